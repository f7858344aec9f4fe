// SPDX-License-Identifier: Apache-2.0
// The GPUs of this computer as a machine: what the driver says of them, how much of their memory may be used,
// and, on request, what they are measured to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "exec/device/gpu_memory.h"
#include "exec/measure/measure.h"

namespace lanescope::exec {

// How many GPUs the driver shows (of those that the environment leaves visible), without loading what using
// them takes; 0 with the reason in one line.
int CountVisibleGpus(std::string* reason);
// Loads that at the first call. False, with the reason and what to do in one line, where they cannot be used.
bool LoadGpuBackend(std::string* reason);

// The usable ones in visible order, by their place among those that the driver shows; none of them is used
// yet. `notes`: one line for each GPU that is left out, saying why. Throws FailedPrecondition where GPUs
// cannot be used.
std::vector<int> UsableGpus(std::vector<std::string>* notes);
// The identity of the GPU at this place on its computer, whatever GPUs a process sees. Empty
// for a place where there is none.
std::string GpuId(int ordinal);
// CPU:0 and these GPUs. Rates and links are what the vendor's figures suggest until they are measured; GPUs
// without peer access have no link, so that copies between them count as staged. Throws FailedPrecondition
// where GPUs cannot be used.
Machine DescribeGpus(const std::vector<int>& ordinals, const GpuMemoryOptions& options);
// Detects all that are usable.
Machine DetectGpus(const GpuMemoryOptions& options, std::vector<std::string>* notes);
// Writes into physical GPUs and parts of them what the driver says and the machine file does not: model and
// rates, and how many multiprocessors each really has, whatever share it asks for. Nothing where GPUs cannot
// be used, or of GPUs that are not there.
void CompleteGpus(Machine* machine);

// One kind of work while another goes on, on the same GPU: time beside it, as a multiple of the time alone.
struct GpuInterference {
  std::string gpu;  // "GPU:0"
  SlowdownMatrix slowdown{};
};

struct GpuMeasurement {
  std::vector<LinkTime> links;       // both directions of every link, alone, over sizes
  std::vector<LinkTime> links_busy;  // of the largest size, while the opposite direction is busy too
  std::vector<LinkTime> within;      // copies inside each GPU: src and dst the same
  std::vector<GpuInterference> interference;
};

// Fills in peak rates (float32 products by the vendor's library), memory bandwidth (a kernel that copies),
// launch cost and the tables of links of the machine's devices with streams; links of host memory devices are
// left alone. Throws FailedPrecondition where they cannot be used, Cancelled soon after `cancelled` (may be
// null) becomes true.
GpuMeasurement MeasureGpus(Machine* machine, int64_t max_bytes = int64_t{64} << 20, int repetitions = 7,
                           const std::atomic<bool>* cancelled = nullptr);

// Whether any device is a physical GPU or a part of one.
bool HasPhysicalGpus(const Machine& machine);

}  // namespace lanescope::exec
