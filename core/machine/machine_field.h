// SPDX-License-Identifier: Apache-2.0
// A machine file's values with the path that leads to each, so that errors name it. Internal to core/machine.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/json_values.h"
#include "core/base/units.h"
#include "core/machine/machine.h"

namespace lanescope::machine_file {

using Json = nlohmann::ordered_json;

// More than any machine has; keeps a hostile file from costing memory.
inline constexpr size_t kMaxMachineBytes = size_t{16} << 20;
inline constexpr size_t kMaxDevices = 1024;
inline constexpr size_t kMaxLinks = 65536;
inline constexpr size_t kMaxBuses = 4096;
inline constexpr size_t kMaxNics = 4096;
inline constexpr size_t kMaxTableRows = 4096;
inline constexpr int64_t kMaxMemory = int64_t{1} << 50;     // 1 PiB
inline constexpr double kMaxBandwidth = 1e15;               // 1 PB/s
inline constexpr double kMaxFlops = 1e18;                   // 1 EFLOP/s
inline constexpr int64_t kMaxDuration = 1'000'000'000'000;  // 1000 s
inline constexpr int64_t kDefaultHostMemory = int64_t{16} << 30;

// A JSON value and the path that leads to it.
class Field {
 public:
  Field(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) const {
    Throw(Code::kInvalidArgument, "{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

  void RequireObject(std::initializer_list<std::string_view> keys) const {
    if (!json_.is_object()) Fail("must be an object");
    for (const auto& item : json_.items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) != keys.end()) continue;
      Throw(Code::kInvalidArgument, "{}.{}: unknown key; known are {}", path_, item.key(),
            fmt::join(keys, ", "));
    }
  }
  bool Has(std::string_view key) const { return json_.contains(key); }
  Field operator[](std::string_view key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) Throw(Code::kInvalidArgument, "{}.{}: missing", path_, key);
    return Field(*found, fmt::format("{}.{}", path_, key));
  }
  // Elements of an array of at most `limit` values.
  std::vector<Field> Elements(size_t limit) const {
    if (!json_.is_array()) Fail("must be an array");
    if (json_.size() > limit) Fail("has {} entries; at most {} are accepted", json_.size(), limit);
    std::vector<Field> elements;
    for (size_t i = 0; i < json_.size(); ++i)
      elements.emplace_back(json_[i], fmt::format("{}[{}]", path_, i));
    return elements;
  }
  std::vector<std::pair<std::string, Field>> Members() const {
    if (!json_.is_object()) Fail("must be an object");
    std::vector<std::pair<std::string, Field>> members;
    for (const auto& item : json_.items()) {
      members.emplace_back(item.key(), Field(item.value(), fmt::format("{}.{}", path_, item.key())));
    }
    return members;
  }

  std::string String() const {
    if (const std::string why = WhyNoString(json_); !why.empty()) Fail("{}", why);
    return json_.get<std::string>();
  }
  bool Bool() const {
    if (!json_.is_boolean()) Fail("must be true or false");
    return json_.get<bool>();
  }
  int64_t Integer(int64_t low, int64_t high) const {
    if (const std::string why = WhyNoInteger(json_, low, high); !why.empty()) Fail("{}", why);
    return json_.get<int64_t>();
  }
  double Number(double low, double high) const {
    const double value = json_.is_number() ? json_.get<double>() : high + 1;
    if (!(value >= low && value <= high)) Fail("must be a number from {} to {}", low, high);
    return value;
  }
  // A quantity with its unit, in (0, high], or from 0 where `zero_allowed`.
  template <typename T>
  T Quantity(T (*parse)(std::string_view), T high, bool zero_allowed) const {
    const std::string text = String();
    T value = 0;
    try {
      value = parse(text);
    } catch (const Error& error) {
      Fail("{}", error.message());
    }
    if (value > high || (value <= 0 && !zero_allowed)) Fail("'{}' is out of range", text);
    return value;
  }

 private:
  const Json& json_;
  std::string path_;
};

// Measured pairs (bytes, ns): sizes ascend, durations do not descend.
std::vector<std::pair<int64_t, int64_t>> ReadTable(const Field& field);
// All of a device but its name, whose type decides the defaults; `device->parsed` is set.
void ReadDeviceBody(const Field& field, DeviceSpec* device);
// Reads the key "cluster": its GPUs come behind the devices that are there.
void ReadCluster(const Field& field, Machine* machine);
Json ClusterToJson(const Machine& machine);
Json DeviceBodyToJson(const DeviceSpec& device);

}  // namespace lanescope::machine_file
