// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_object.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/json_values.h"

namespace lanescope {

std::string_view JsonErrorText(const nlohmann::json::exception& error) {
  std::string_view message = error.what();
  // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
  if (const size_t end = message.find("] "); end != std::string_view::npos) message.remove_prefix(end + 2);
  return message;
}

namespace {

// The keys so far of the objects that are open while a text is read. The library would keep the last of
// several values of a key, without a word.
class KeysSoFar {
 public:
  void See(nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event != Event::key) return;
    const std::string& key = parsed.get_ref<const std::string&>();
    if (!keys_.back().insert(key).second)
      Throw(Code::kInvalidArgument, "an object has the key '{}' twice; keep one of them", key);
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

nlohmann::json ParseJson(std::string_view text) {
  KeysSoFar keys;
  try {
    return nlohmann::json::parse(text, [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
      keys.See(event, parsed);
      return true;
    });
  } catch (const nlohmann::json::exception& error) {
    Throw(Code::kInvalidArgument, "not JSON: {}", JsonErrorText(error));
  }
}

JsonObject::JsonObject(const nlohmann::json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) Throw(Code::kInvalidArgument, "{} must be a JSON object", where_);
}

const nlohmann::json* JsonObject::Find(const std::string& key) {
  const auto it = object_.find(key);
  if (it == object_.end()) return nullptr;
  used_.insert(key);
  return &*it;
}

const nlohmann::json& JsonObject::Require(const std::string& key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) Fail(key, "is missing");
  return *value;
}

std::string JsonObject::String(const std::string& key) {
  const nlohmann::json& value = Require(key);
  if (const std::string why = WhyNoString(value); !why.empty()) Fail(key, why);
  return value.get<std::string>();
}

double JsonObject::Number(const std::string& key) {
  const nlohmann::json& value = Require(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) Fail(key, "must be a number");
  return value.get<double>();
}

int64_t JsonObject::Integer(const std::string& key, int64_t minimum, int64_t maximum) {
  const nlohmann::json& value = Require(key);
  if (const std::string why = WhyNoInteger(value, minimum, maximum); !why.empty()) Fail(key, why);
  return value.get<int64_t>();
}

uint64_t JsonObject::Unsigned(const std::string& key) {
  const nlohmann::json& value = Require(key);
  if (!value.is_number_unsigned()) Fail(key, "must be an integer from 0 to 2^64 - 1");
  return value.get<uint64_t>();
}

std::vector<std::string> JsonObject::Strings(const std::string& key) {
  const nlohmann::json* list = Find(key);
  std::vector<std::string> strings;
  if (list == nullptr) return strings;
  if (!list->is_array()) Fail(key, "must be a list of strings");
  for (const nlohmann::json& value : *list) {
    if (!value.is_string()) Fail(key, "must be a list of strings");
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

void JsonObject::Finish() const {
  for (const auto& [key, value] : object_.items()) {
    if (!used_.contains(key)) Fail(key, "is not known here");
  }
}

void JsonObject::Fail(std::string_view key, std::string_view problem) const {
  Throw(Code::kInvalidArgument, "{}: key '{}' {}", where_, key, problem);
}

}  // namespace lanescope
