// SPDX-License-Identifier: Apache-2.0
#include "core/machine/device_settings.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/device_config.h"

namespace lanescope {

DeviceSettings::DeviceSettings(Machine physical) : physical_(std::move(physical)) {
  for (const DeviceId device : physical_.devices.ids()) visible_.push_back(device);
}

DeviceId DeviceSettings::Find(std::string_view device) const {
  const DeviceId found = physical_.FindDevice(device);
  if (!found.exists()) Throw(Code::kInvalidArgument, "Unrecognized device: '{}'", device);
  return found;
}

void DeviceSettings::RequireOpen(std::string_view what) const {
  if (initialized_)
    Throw(Code::kFailedPrecondition, "{} devices cannot be modified after being initialized", what);
}

void DeviceSettings::SetVisibleDevices(const std::vector<std::string>& devices, std::string_view type) {
  std::vector<DeviceId> visible;
  if (!type.empty()) {
    std::ranges::copy_if(visible_, std::back_inserter(visible),
                         [&](DeviceId device) { return physical_.device(device).parsed.type != type; });
  }
  for (const std::string& device : devices) {
    visible.push_back(Find(device));
    if (!type.empty() && physical_.device(visible.back()).parsed.type != type)
      Throw(Code::kInvalidArgument, "Unrecognized device: '{}' is no {}", device, type);
  }
  if (visible == visible_) return;
  RequireOpen("Visible");
  visible_ = std::move(visible);
}

void DeviceSettings::SetLogicalDevices(std::string_view device, const std::vector<LogicalDevice>& parts) {
  const DeviceId id = Find(device);
  const bool is_gpu = physical_.device(id).is_gpu();
  for (const LogicalDevice& part : parts) {
    if (!is_gpu && part.memory_limit_mb)
      Throw(Code::kInvalidArgument, "Setting memory limit on CPU virtual devices is currently not supported");
    if (!is_gpu && part.priority) {
      Throw(Code::kInvalidArgument,
            "Setting experimental_priority on CPU virtual devices is currently not supported");
    }
    if (is_gpu && !part.memory_limit_mb)
      Throw(Code::kInvalidArgument, "Setting memory limit is required for GPU virtual devices");
  }
  if (!is_gpu && parts.size() > 1)
    Throw(Code::kUnimplemented, "the host is one device here; only GPUs have parts");
  const auto known = logical_.find(id);
  if (known != logical_.end() && known->second == parts) return;
  RequireOpen("Virtual");
  logical_[id] = parts;
}

void DeviceSettings::SetMemoryGrowth(std::string_view gpu, bool grows) {
  const DeviceId id = Find(gpu);
  if (logical_.contains(id)) {
    Throw(Code::kInvalidArgument, "Cannot set memory growth on device when virtual devices configured");
  }
  if (!physical_.device(id).is_gpu()) {
    Throw(Code::kInvalidArgument, "Cannot set memory growth on non-GPU and non-Pluggable devices");
  }
  const auto known = growth_.find(id);
  if (known != growth_.end() && known->second == grows) return;
  RequireOpen("Physical");
  growth_[id] = grows;
}

std::vector<DeviceId> DeviceSettings::VisibleGpus() const {
  std::vector<DeviceId> gpus;
  std::ranges::copy_if(visible_, std::back_inserter(gpus),
                       [&](DeviceId device) { return physical_.device(device).is_gpu(); });
  return gpus;
}

// Parts have limits, so that nothing of them grows.
bool DeviceSettings::memory_growth() const {
  std::optional<bool> all;
  for (const DeviceId gpu : VisibleGpus()) {
    if (logical_.contains(gpu)) return false;
    const auto known = growth_.find(gpu);
    const bool grows = known != growth_.end() && known->second;
    if (all && *all != grows)
      Throw(Code::kInvalidArgument, "Memory growth cannot differ between GPU devices");
    all = grows;
  }
  return all.value_or(false);
}

const Machine& DeviceSettings::Initialize() {
  if (initialized_) return *initialized_;
  memory_growth();
  const std::vector<DeviceId> all = physical_.Gpus(), visible = VisibleGpus();
  DeviceConfig config;
  if (visible.empty()) config.gpu_count = 0;
  bool cut = false;
  for (const DeviceId gpu : visible) {
    const auto number = std::ranges::find(all, gpu) - all.begin();
    config.visible_device_list += (config.visible_device_list.empty() ? "" : ",") + std::to_string(number);
    LogicalGpus& parts = config.logical_devices.emplace_back();
    const auto known = logical_.find(gpu);
    if (known == logical_.end()) continue;
    cut = cut || !known->second.empty();
    for (const LogicalDevice& part : known->second) {
      parts.memory_limit_mb.push_back(*part.memory_limit_mb);
      parts.priority.push_back(part.priority.value_or(0));
    }
  }
  if (!cut) config.logical_devices.clear();
  initialized_ = ConfigureDevices(physical_, config);
  return *initialized_;
}

}  // namespace lanescope
