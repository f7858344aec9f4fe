#include "traces/import/kineto_fields.h"

#include <algorithm>
#include <cmath>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

using nlohmann::json;

std::optional<int64_t> JsonInteger(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  return found->get<int64_t>();
}

std::optional<int64_t> JsonNanoseconds(const json& object, const char* key) {
  constexpr double kMaxMicroseconds = static_cast<double>(kMaxImportNs) / 1000;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  if (!(std::abs(found->get<double>()) < kMaxMicroseconds)) return std::nullopt;
  // Times since 1970 lose their last digits as floating-point ns: whole and broken parts apart.
  if (const auto whole = JsonInteger(object, key)) return *whole * 1000;
  const double value = found->get<double>(), whole = std::floor(value);
  return static_cast<int64_t>(whole) * 1000 + std::llround((value - whole) * 1000);
}

const std::string* JsonText(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? nullptr : &found->get_ref<const std::string&>();
}

int32_t JsonSmall(const json& object, const char* key) {
  return static_cast<int32_t>(std::clamp<int64_t>(JsonInteger(object, key).value_or(0), 0, INT32_MAX));
}

bool ReadJsonSize(const json& object, const char* key, std::array<int32_t, 3>* size) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() != size->size()) return false;
  for (size_t i = 0; i < size->size(); ++i) {
    const json& side = (*found)[i];
    if (!side.is_number_unsigned() || side.get<uint64_t>() > INT32_MAX) return false;
    (*size)[i] = side.get<int32_t>();
  }
  return true;
}

}  // namespace lanescope::traces
