// SPDX-License-Identifier: Apache-2.0
#include "core/machine/copy_class.h"

namespace lanescope {

std::string_view CopyClassName(CopyClass copy_class) {
  switch (copy_class) {
    case CopyClass::kDeviceToDevice:
      return "device_to_device";
    case CopyClass::kWithinDevice:
      return "within_device";
    case CopyClass::kHostToDevice:
      return "host_to_device";
    case CopyClass::kDeviceToHost:
      return "device_to_host";
    case CopyClass::kHostToHost:
      return "host_to_host";
  }
  return "device_to_device";
}

CopyClass CopyClassOf(bool from_host, bool to_host, bool same_device) {
  if (from_host && to_host) return CopyClass::kHostToHost;
  if (from_host) return CopyClass::kHostToDevice;
  if (to_host) return CopyClass::kDeviceToHost;
  return same_device ? CopyClass::kWithinDevice : CopyClass::kDeviceToDevice;
}

CopyClass ClassifyCopy(const Machine& machine, DeviceId src, DeviceId dst) {
  return CopyClassOf(!machine.device(src).is_gpu(), !machine.device(dst).is_gpu(), src == dst);
}

}  // namespace lanescope
