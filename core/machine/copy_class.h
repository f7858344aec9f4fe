// SPDX-License-Identifier: Apache-2.0
// Between which kinds of place a copy goes, whatever kind the hardware reports. Measured and simulated runs
// are counted alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/machine/machine.h"

namespace lanescope {

enum class CopyClass : uint8_t { kDeviceToDevice, kWithinDevice, kHostToDevice, kDeviceToHost, kHostToHost };
inline constexpr int kNumCopyClasses = 5;

// "device_to_device", "within_device", "host_to_device", "device_to_host", "host_to_host".
std::string_view CopyClassName(CopyClass copy_class);
// Device to device means that source and destination differ.
CopyClass CopyClassOf(bool from_host, bool to_host, bool same_device);
// The class of a copy between two devices of a machine.
CopyClass ClassifyCopy(const Machine& machine, DeviceId src, DeviceId dst);

}  // namespace lanescope
