#include "core/copy_class.h"

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

CopyClass ClassifyCopy(const Machine& machine, int src, int dst) {
  const bool from_host = !machine.device(src).is_gpu(), to_host = !machine.device(dst).is_gpu();
  if (from_host && to_host) return CopyClass::kHostToHost;
  if (from_host) return CopyClass::kHostToDevice;
  if (to_host) return CopyClass::kDeviceToHost;
  return src == dst ? CopyClass::kWithinDevice : CopyClass::kDeviceToDevice;
}

}  // namespace lanescope
