// SPDX-License-Identifier: Apache-2.0
#include "traces/store/copy_class.h"

#include <algorithm>

namespace lanescope::traces {
namespace {

// ENUM_CUDA_MEMCPY_OPER by ends.
bool StartsAtHost(int64_t kind) { return kind == 1 || kind == 3 || kind == 9 || kind == 11; }
bool EndsAtHost(int64_t kind) { return kind == 2 || kind == 4 || kind == 9 || kind == 12; }
constexpr int64_t kHostToDevice = 1, kDeviceToHost = 2, kWithinDevice = 8, kHostToHost = 9, kPeerToPeer = 10;
constexpr int64_t kUnifiedBetweenDevices = 13;

// ENUM_CUDA_MEM_KIND: pageable and pinned are host memory; device, array and static device memory are not;
// managed and unknown memory may be anywhere.
std::optional<bool> IsHostMemory(std::optional<int64_t> kind) {
  if (!kind) return std::nullopt;
  if (*kind == 0 || *kind == 1) return true;
  if (*kind == 2 || *kind == 3 || *kind == 5) return false;
  return std::nullopt;
}

// Whether the columns of the ends say something. Exports of 2020 hold no NULLs but 0 for both ends of every
// copy that is no peer copy.
bool NamesEnds(const CopyColumns& columns) {
  if (columns.copy_kind == kPeerToPeer) return columns.src_device || columns.dst_device;
  return columns.src_device && columns.dst_device && columns.src_device != columns.dst_device;
}

int HostOf(std::optional<int> end, std::span<const int> hosts) {
  return end && std::ranges::find(hosts, *end) != hosts.end() ? *end : hosts.front();
}

}  // namespace

CopyRoute ClassifyCopy(const CopyColumns& columns, std::span<const int> hosts) {
  const bool named = NamesEnds(columns);
  const bool from_host = StartsAtHost(columns.copy_kind), to_host = EndsAtHost(columns.copy_kind);
  bool src_host = IsHostMemory(columns.src_kind).value_or(from_host);
  bool dst_host = IsHostMemory(columns.dst_kind).value_or(to_host);
  // Host memory that is mapped for the device can be its end of the copy.
  if (src_host && dst_host && from_host != to_host) {
    src_host = from_host;
    dst_host = to_host;
  }
  CopyRoute route;
  route.src = src_host ? HostOf(columns.src_device, hosts)
              : named  ? columns.src_device.value_or(columns.device)
                       : columns.device;
  route.dst = dst_host ? HostOf(columns.dst_device, hosts)
              : named  ? columns.dst_device.value_or(columns.device)
                       : columns.device;
  const bool between = columns.copy_kind == kPeerToPeer || columns.copy_kind == kUnifiedBetweenDevices;
  if (!src_host && !dst_host && between && !named) route.dst = kUnknownDevice;
  route.copy_class = CopyClassOf(src_host, dst_host, route.src == route.dst);
  return route;
}

int64_t CopyKindOf(CopyClass copy_class) {
  switch (copy_class) {
    case CopyClass::kHostToDevice:
      return kHostToDevice;
    case CopyClass::kDeviceToHost:
      return kDeviceToHost;
    case CopyClass::kHostToHost:
      return kHostToHost;
    case CopyClass::kDeviceToDevice:
      return kPeerToPeer;
    case CopyClass::kWithinDevice:
      return kWithinDevice;
  }
  return kPeerToPeer;
}

int64_t KindOfRoute(const CopyRoute& route, int64_t copy_kind) {
  const bool between_devices = copy_kind == kWithinDevice || copy_kind == kPeerToPeer;
  return between_devices ? CopyKindOf(route.copy_class) : copy_kind;
}

}  // namespace lanescope::traces
