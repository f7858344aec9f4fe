#include "traces/copy_class.h"

namespace lanescope {
namespace {

// ENUM_CUDA_MEMCPY_OPER by ends.
bool StartsAtHost(int64_t kind) { return kind == 1 || kind == 3 || kind == 9 || kind == 11; }
bool EndsAtHost(int64_t kind) { return kind == 2 || kind == 4 || kind == 9 || kind == 12; }
constexpr int64_t kPeerToPeer = 10;

// ENUM_CUDA_MEM_KIND: pageable and pinned are host memory; device, array and static device memory are not;
// managed and unknown memory may be anywhere.
std::optional<bool> IsHostMemory(std::optional<int64_t> kind) {
  if (!kind) return std::nullopt;
  if (*kind == 0 || *kind == 1) return true;
  if (*kind == 2 || *kind == 3 || *kind == 5) return false;
  return std::nullopt;
}

}  // namespace

CopyRoute ClassifyCopy(const CopyColumns& columns, int host) {
  const bool src_host = IsHostMemory(columns.src_kind).value_or(StartsAtHost(columns.copy_kind));
  const bool dst_host = IsHostMemory(columns.dst_kind).value_or(EndsAtHost(columns.copy_kind));
  CopyRoute route;
  route.src = src_host ? host : columns.src_device.value_or(columns.device);
  route.dst = dst_host ? host : columns.dst_device.value_or(columns.device);
  if (src_host || dst_host) {
    route.copy_class = src_host && dst_host ? CopyClass::kHostToHost
                       : src_host           ? CopyClass::kHostToDevice
                                            : CopyClass::kDeviceToHost;
  } else {
    const bool ends_known = columns.src_device.has_value() || columns.dst_device.has_value();
    const bool differ = route.src != route.dst || (columns.copy_kind == kPeerToPeer && !ends_known);
    route.copy_class = differ ? CopyClass::kDeviceToDevice : CopyClass::kWithinDevice;
  }
  return route;
}

}  // namespace lanescope
