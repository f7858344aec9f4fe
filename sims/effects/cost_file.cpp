// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/cost_file.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/time/ticks.h"

namespace lanescope::sims {

using nlohmann::json;

int64_t Nanoseconds(JsonObject* object, const std::string& key) {
  return object->Integer(key, 0, kMaxSimulatedNs);
}

double NumberIn(JsonObject* object, const std::string& key, double minimum, double maximum) {
  const double number = object->Number(key);
  if (!(number >= minimum && number <= maximum)) {
    object->Fail(key, fmt::format("must lie between {} and {}", minimum, maximum));
  }
  return number;
}

const json& ListOf(JsonObject* object, const std::string& key) {
  const json& list = object->Require(key);
  if (!list.is_array()) object->Fail(key, "must be a list");
  return list;
}

DeviceKind ParseKind(JsonObject* object, const std::string& key) {
  const std::string name = object->String(key);
  std::string known;
  for (const DeviceKind kind : kDeviceKinds) {
    if (DeviceKindName(kind) == name) return kind;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", DeviceKindName(kind));
  }
  object->Fail(key, fmt::format("must be one of {}", known));
}

JsonObject& CostFileReader::At(const std::string& path) {
  std::unique_ptr<JsonObject>& part = parts_[path];
  if (part == nullptr) {
    const size_t dot = path.rfind('.');
    JsonObject& outer = dot == std::string::npos ? file_ : At(path.substr(0, dot));
    const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
    part = std::make_unique<JsonObject>(outer.Require(key), path);
  }
  return *part;
}

void CostFileReader::Ignore(const std::string& path, std::initializer_list<const char*> keys) {
  for (const char* key : keys) At(path).Find(key);
}

JsonObject* CostFileReader::Gaps(DeviceKind kind) {
  if (!has_devices_) {
    has_devices_ = true;
    const json& devices = ListOf(&At("gaps"), "devices");
    for (size_t i = 0; i < devices.size(); ++i) {
      auto device = std::make_unique<JsonObject>(devices[i], fmt::format("gaps.devices[{}]", i));
      const auto of = static_cast<size_t>(ParseKind(device.get(), "kind"));
      if (devices_[of] != nullptr) device->Fail("kind", "stands twice in the list");
      devices_[of] = std::move(device);
    }
  }
  return devices_[static_cast<size_t>(kind)].get();
}

void CostFileReader::Finish() const {
  for (const auto& [path, part] : parts_) part->Finish();
  for (const auto& device : devices_) {
    if (device != nullptr) device->Finish();
  }
}

json& CostFileWriter::Gaps(DeviceKind kind) {
  json& devices = file_["gaps"]["devices"];
  const std::string_view name = DeviceKindName(kind);
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const json& device) { return device["kind"] == name; });
  if (found != devices.end()) return *found;
  devices.push_back({{"kind", name}});
  return devices.back();
}

}  // namespace lanescope::sims
