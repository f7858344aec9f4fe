// SPDX-License-Identifier: Apache-2.0
// Microbenchmarks of the machine that virtual devices are made of: rates, links, and how work beside other
// work slows down. They run no graph and no placement, so predictions may use them without seeing what they
// predict.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/machine/machine.h"
#include "core/machine/work_class.h"

namespace lanescope::exec {

struct HostMeasurement {
  int cores = 0;                // that this process may use
  double flops_per_second = 0;  // float32 matrix product, one worker
  double bytes_per_second = 0;  // read plus written, streaming over arrays beyond the caches, one worker
  SlowdownMatrix slowdown{};    // medians of interleaved repetitions
  int64_t slice_ns =
      0;  // that the system lets a thread keep its core while others wait; 0: unknown; INT32_MAX: for ever
  double copy_cores = 0;  // share of a core that one copy between GPUs keeps busy; median
};

struct LinkTime {
  DeviceId src{0}, dst{0};
  int64_t bytes = 0;
  int64_t ns = 0;  // median
};

// Extra time of reading bytes that another core has just written, beside the reader's own: medians.
struct FetchTime {
  int64_t bytes = 0;
  int64_t extra_ns = 0;
};

// All throw Cancelled soon after `cancelled` (may be null) becomes true.

// About `budget_ms` in all. Copies are paced to the machine's first link between GPUs (the host's first link
// if there is none).
HostMeasurement MeasureHost(const Machine& machine, int budget_ms = 1500,
                            const std::atomic<bool>* cancelled = nullptr);
// Every pair of linked devices of host memory, alone, over sizes from 4 bytes to `max_bytes`.
std::vector<LinkTime> MeasureLinks(const Machine& machine, int64_t max_bytes, int repetitions = 7,
                                   const std::atomic<bool>* cancelled = nullptr);
// Sizes from 64 KiB to 8 MiB. Empty on a single core.
std::vector<FetchTime> MeasureFetches(int repetitions = 9, const std::atomic<bool>* cancelled = nullptr);

}  // namespace lanescope::exec
