// SPDX-License-Identifier: Apache-2.0
// The parts of a cost file in which effects have their keys. Internal to sims.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/json_object.h"
#include "core/machine/machine.h"
#include "sims/engine/delays.h"

namespace lanescope::sims {

// Every kind there is, in the order in which a cost file lists them.
inline constexpr std::array<DeviceKind, kNumDeviceKinds> kDeviceKinds = [] {
  std::array<DeviceKind, kNumDeviceKinds> kinds{};
  for (int k = 0; k < kNumDeviceKinds; ++k) kinds[static_cast<size_t>(k)] = static_cast<DeviceKind>(k);
  return kinds;
}();
inline constexpr std::array<const char*, kNumThreadClasses> kQueueClassNames = {"compute", "copy", "message"};

// Throw InvalidArgument, naming object and key.
int64_t Nanoseconds(JsonObject* object, const std::string& key);
double NumberIn(JsonObject* object, const std::string& key, double minimum, double maximum);
const nlohmann::json& ListOf(JsonObject* object, const std::string& key);
DeviceKind ParseKind(JsonObject* object, const std::string& key);

// Objects within the file, read strictly: a key that no effect asked for is an error. Refers to the file.
class CostFileReader {
 public:
  // `file`: the whole file, whose other keys its owner reads.
  explicit CostFileReader(JsonObject* file) : file_(*file) {}

  // The file itself.
  JsonObject& file() { return file_; }
  // "gaps", "gaps.handoff_ns", "interference.host": throws where a part of the path is missing.
  JsonObject& At(const std::string& path);
  // Keys of the part at the path that say nothing a prediction needs.
  void Ignore(const std::string& path, std::initializer_list<const char*> keys);
  // The gaps of a device in "gaps.devices"; null where the list has no such device.
  JsonObject* Gaps(DeviceKind kind);
  // Throws InvalidArgument for a key that nobody read in the parts that somebody asked for.
  void Finish() const;

 private:
  JsonObject& file_;
  std::map<std::string, std::unique_ptr<JsonObject>> parts_;
  bool has_devices_ = false;
  std::array<std::unique_ptr<JsonObject>, kNumDeviceKinds> devices_;
};

class CostFileWriter {
 public:
  explicit CostFileWriter(nlohmann::json* file) : file_(*file) {}

  nlohmann::json& file() { return file_; }
  nlohmann::json& Gaps(DeviceKind kind);

 private:
  nlohmann::json& file_;
};

}  // namespace lanescope::sims
