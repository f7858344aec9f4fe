// SPDX-License-Identifier: Apache-2.0
#include "traces/import/kineto_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

using nlohmann::json;

namespace {

template <typename T>
std::optional<T> WholeNumber(std::string_view text) {
  T number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

const JsonValue* Plain(const JsonFields& object, std::string_view key) {
  const JsonValue* found = object.Find(key);
  return found == nullptr || found->kind != JsonValue::Kind::kPlain ? nullptr : found;
}

}  // namespace

std::optional<int64_t> JsonInteger(const JsonFields& object, std::string_view key) {
  const JsonValue* found = Plain(object, key);
  return found == nullptr ? std::nullopt : WholeNumber<int64_t>(found->text);
}

std::optional<int64_t> JsonInteger(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  return found->get<int64_t>();
}

std::optional<int64_t> IdOfText(std::string_view text) {
  const bool hex = text.starts_with("0x"), negative = text.starts_with('-');
  text.remove_prefix(hex ? 2 : negative ? 1 : 0);
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int64_t>(negative ? ~number + 1 : number);
}

std::optional<int64_t> JsonId(const JsonFields& object, std::string_view key) {
  const JsonValue* found = object.Find(key);
  if (found == nullptr || found->kind == JsonValue::Kind::kNested) return std::nullopt;
  if (found->kind == JsonValue::Kind::kText) return IdOfText(found->text);
  if (const auto number = WholeNumber<int64_t>(found->text)) return number;
  const auto handle = WholeNumber<uint64_t>(found->text);
  return handle ? std::optional(static_cast<int64_t>(*handle)) : std::nullopt;
}

namespace {

constexpr double kMaxMicroseconds = static_cast<double>(kMaxImportNs) / 1000;

// The nanoseconds of "1714521600123456.032", to the last digit: whole and broken parts apart.
std::optional<int64_t> NanosecondsOfDigits(std::string_view text) {
  constexpr size_t kMostDigits = 18, kDigitsOfNs = 3;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t dot = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, dot);
  const std::string_view broken = dot == text.size() ? std::string_view() : text.substr(dot + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (whole.empty() || whole.size() > kMostDigits || !std::ranges::all_of(whole, is_digit) ||
      !std::ranges::all_of(broken, is_digit))
    return std::nullopt;
  int64_t microseconds = 0, ns = 0;
  std::from_chars(whole.data(), whole.data() + whole.size(), microseconds);
  if (microseconds >= kMaxImportNs / 1000) return std::nullopt;
  for (size_t i = 0; i < kDigitsOfNs; ++i) ns = 10 * ns + (i < broken.size() ? broken[i] - '0' : 0);
  if (broken.size() > kDigitsOfNs && broken[kDigitsOfNs] >= '5') ++ns;
  const int64_t length = microseconds * 1000 + ns;
  return negative ? -length : length;
}

// "1.7145216001234560e+15" as "1714521600123456.0": all of its digits. Empty: it is no such number.
std::string WithoutExponent(std::string_view text) {
  constexpr int kMostExponent = 30;
  const size_t at = std::min(text.find_first_of("eE"), text.size());
  std::string_view exponent = text.substr(std::min(at + 1, text.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  const auto shift = WholeNumber<int>(exponent);
  if (!shift || std::abs(*shift) > kMostExponent) return "";
  const std::string_view sign = text.starts_with('-') ? "-" : "";
  const std::string_view number = text.substr(sign.size(), at - sign.size());
  const size_t dot = std::min(number.find('.'), number.size());
  std::string digits(number.substr(0, dot));
  auto point = static_cast<int>(digits.size()) + *shift;
  digits += number.substr(std::min(dot + 1, number.size()));
  if (point < 1) digits.insert(0, static_cast<size_t>(1 - std::exchange(point, 1)), '0');
  if (std::ssize(digits) < point) digits.append(static_cast<size_t>(point) - digits.size(), '0');
  digits.insert(static_cast<size_t>(point), ".");
  const size_t first = std::min(digits.find_first_not_of('0'), static_cast<size_t>(point) - 1);
  return std::string(sign) + digits.substr(first);
}

}  // namespace

std::optional<int64_t> JsonNanoseconds(const JsonFields& object, std::string_view key) {
  const JsonValue* found = object.Find(key);
  if (found == nullptr || found->kind == JsonValue::Kind::kNested) return std::nullopt;
  const std::string_view digits = found->text;
  if (const auto exact = NanosecondsOfDigits(digits)) return exact;
  if (const auto exact = NanosecondsOfDigits(WithoutExponent(digits))) return exact;
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || end != digits.data() + digits.size() || !(std::abs(value) < kMaxMicroseconds))
    return std::nullopt;
  return std::llround(value * 1000);
}

std::optional<std::string_view> JsonText(const JsonFields& object, std::string_view key) {
  const JsonValue* found = object.Find(key);
  if (found == nullptr || found->kind != JsonValue::Kind::kText) return std::nullopt;
  return found->text;
}

const std::string* JsonText(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? nullptr : &found->get_ref<const std::string&>();
}

int32_t JsonSmall(const JsonFields& object, std::string_view key) {
  return static_cast<int32_t>(std::clamp<int64_t>(JsonInteger(object, key).value_or(0), 0, INT32_MAX));
}

bool ReadJsonSize(const JsonFields& object, std::string_view key, std::array<int32_t, 3>* size) {
  const JsonValue* found = object.Find(key);
  if (found == nullptr || !found->text.starts_with('[') || !found->text.ends_with(']')) return false;
  std::string_view rest = found->text.substr(1, found->text.size() - 2);
  for (size_t i = 0; i < size->size(); ++i) {
    const size_t comma = rest.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == size->size())) return false;
    std::string_view side = rest.substr(0, comma);
    rest.remove_prefix(std::min(side.size() + 1, rest.size()));
    side.remove_prefix(std::min(side.find_first_not_of(" \t\r\n"), side.size()));
    side = side.substr(0, side.find_last_not_of(" \t\r\n") + 1);
    const auto number = WholeNumber<int32_t>(side);
    if (!number || *number < 0) return false;
    (*size)[i] = *number;
  }
  return true;
}

}  // namespace lanescope::traces
