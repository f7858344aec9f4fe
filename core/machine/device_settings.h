// SPDX-License-Identifier: Apache-2.0
// Devices configured step by step before they are used, as programs of TensorFlow 2 do with tf.config.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"

namespace lanescope {

// A part of a device.
struct LogicalDevice {
  std::optional<double> memory_limit_mb = {};  // required of a GPU's part
  std::optional<int> priority = {};            // of its streams
  friend bool operator==(const LogicalDevice&, const LogicalDevice&) = default;
};

// Settings of the devices of a machine until Initialize gives the machine as a program sees it; from then
// on nothing can be changed, though the same may be said again. Devices are named as the machine has them
// ("GPU:0", or in full). Errors are TensorFlow's: InvalidArgument for its ValueError, FailedPrecondition for
// its RuntimeError. Not thread-safe.
class DeviceSettings {
 public:
  explicit DeviceSettings(Machine physical);

  // These devices alone, of the type where one is given ("GPU"); GPUs are numbered in this order.
  void SetVisibleDevices(const std::vector<std::string>& devices, std::string_view type = {});
  void SetLogicalDevices(std::string_view device, const std::vector<LogicalDevice>& parts);
  // Whether memory is taken as it is needed. All visible GPUs have to agree.
  void SetMemoryGrowth(std::string_view gpu, bool grows);

  // Throws what ConfigureDevices throws, too.
  const Machine& Initialize();
  // For exec::DeviceOptions: TensorFlow takes all memory at once where nobody says otherwise.
  bool memory_growth() const;

 private:
  DeviceId Find(std::string_view device) const;
  void RequireOpen(std::string_view what) const;
  std::vector<DeviceId> VisibleGpus() const;

  const Machine physical_;
  std::vector<DeviceId> visible_;
  std::map<DeviceId, std::vector<LogicalDevice>> logical_;
  std::map<DeviceId, bool> growth_;
  std::optional<Machine> initialized_;
};

}  // namespace lanescope
