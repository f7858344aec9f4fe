// SPDX-License-Identifier: Apache-2.0
// Copies as ROCm's profilers name them: by the agents at both ends. Internal to traces.
#pragma once

#include "traces/import/import_trace.h"

namespace lanescope::traces {

struct RocmEnds {
  bool from_host = false, to_host = false;
  bool within_gpu = false;  // both ends are one GPU
};

constexpr bool IsBetweenGpus(const RocmEnds& ends) {
  return !ends.from_host && !ends.to_host && !ends.within_gpu;
}

// Kinds of the copy and of its memories, as CUPTI numbers them.
constexpr CopyEnds EndsOfRocm(const RocmEnds& ends) {
  constexpr int kHtoD = 1, kDtoH = 2, kDtoD = 8, kHtoH = 9, kPtoP = 10;
  constexpr int kUnknownMemory = 7, kGpuMemory = 2;
  const int kind = ends.from_host    ? (ends.to_host ? kHtoH : kHtoD)
                   : ends.to_host    ? kDtoH
                   : ends.within_gpu ? kDtoD
                                     : kPtoP;
  return {kind, ends.from_host ? kUnknownMemory : kGpuMemory, ends.to_host ? kUnknownMemory : kGpuMemory};
}

}  // namespace lanescope::traces
