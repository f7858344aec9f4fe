// SPDX-License-Identifier: Apache-2.0
// Between which devices a copy of an activity table went.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/machine/copy_class.h"

namespace lanescope::traces {

// The other end of a peer copy whose record does not name it.
inline constexpr int kUnknownDevice = -2;

struct CopyRoute {
  int src = 0, dst = 0;
  CopyClass copy_class = CopyClass::kDeviceToDevice;
};

// The columns of a MEMCPY row that tell the route.
struct CopyColumns {
  int64_t copy_kind = 0;                      // ENUM_CUDA_MEMCPY_OPER
  std::optional<int64_t> src_kind, dst_kind;  // ENUM_CUDA_MEM_KIND
  int device = 0;                             // that executed the copy
  std::optional<int> src_device, dst_device;
};

// The memory kinds decide which end is a host, since pinned host memory has been seen labelled peer to peer;
// the copy kind decides where they say nothing. `hosts`: their numbers, at least one; the first stands for
// the host where the columns name none of them.
CopyRoute ClassifyCopy(const CopyColumns& columns, std::span<const int> hosts);

// The copy kind (ENUM_CUDA_MEMCPY_OPER) of a copy of ours.
int64_t CopyKindOf(CopyClass copy_class);

// The copy kind, replaced where route and kind contradict each other: a copy between host and device is no
// peer copy, one between two devices is, and one that stays on a device is not.
int64_t KindOfRoute(const CopyRoute& route, int64_t copy_kind);

}  // namespace lanescope::traces
