// SPDX-License-Identifier: Apache-2.0
// TensorFlow's device names: /job:J/replica:R/task:T/device:TYPE:N, every component optional, any order.
#pragma once

#include <string>
#include <string_view>

namespace lanescope {

// The task of every device of this computer.
inline constexpr std::string_view kLocalTask = "/job:localhost/replica:0/task:0";

struct DeviceName {
  bool has_job = false, has_replica = false, has_task = false, has_type = false, has_id = false;
  std::string job;
  int replica = 0;
  int task = 0;
  std::string type;
  int id = 0;

  bool empty() const { return !has_job && !has_replica && !has_task && !has_type && !has_id; }
  // Canonical order; a type without id prints "/device:GPU:*".
  std::string ToString() const;
  // "GPU:1"
  std::string LocalName() const;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

// By TensorFlow's C++ grammar (legacy /cpu: and /gpu: forms, '*' wildcards; the last of repeated components
// wins). False if malformed.
bool ParseDeviceName(std::string_view text, DeviceName* name);
// "GPU:1" or "/device:GPU:1"-less local form: type, colon, number, nothing more.
bool ParseLocalDeviceName(std::string_view text, DeviceName* name);
// Every component set in `pattern` is set and equal in `device`.
bool Matches(const DeviceName& pattern, const DeviceName& device);
bool IsSameAddressSpace(const DeviceName& a, const DeviceName& b);
// "/job:..../task:2" and "GPU:3"; false without a device part (type and id).
bool SplitDeviceName(std::string_view name, std::string* task, std::string* device);
// Merges `other` into `target`, component by component. Soft: a conflict of type drops type and id, of id
// drops the id. Throws InvalidArgument
// ("Cannot merge devices with incompatible ids: '...' and '...'") otherwise.
void MergeDeviceNames(DeviceName* target, const DeviceName& other, bool soft);
// Soft merge in which type and id conflicts take `other`'s value.
void MergeOverrideDeviceNames(DeviceName* target, const DeviceName& other);

}  // namespace lanescope
