// SPDX-License-Identifier: Apache-2.0
// How fast physical GPUs run, as NVML, the driver's library for managing them, says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/machine/machine.h"

namespace lanescope::study {

struct GpuClock {
  int64_t mhz = 0;         // of the multiprocessors of the slowest GPU; 0: not known
  bool held_down = false;  // heat or a power brake slows one down
};

struct GpuLibraries {
  std::string driver = "libcuda.so.1", nvml = "libnvidia-ml.so.1";
};

// Loads both libraries where the machine has physical GPUs; without them nothing is known. Not thread-safe.
class GpuClocks {
 public:
  explicit GpuClocks(const Machine& machine, const GpuLibraries& libraries = {});

  // Now. Some 10 us a GPU.
  GpuClock Read() const;

 private:
  using Gpu = struct nvmlDevice_st*;  // NVML's own name
  using ClockOf = int (*)(Gpu, int domain, unsigned* mhz);
  using ReasonsOf = int (*)(Gpu, unsigned long long* reasons);
  std::vector<Gpu> gpus_;
  ClockOf clock_of_ = nullptr;
  ReasonsOf reasons_of_ = nullptr;
};

}  // namespace lanescope::study
