// SPDX-License-Identifier: Apache-2.0
// Fused launches on a GPU, by a kernel that NVRTC makes of their text.
#pragma once

#include <memory>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "exec/cuda/api.h"
#include "exec/device/kernel.h"

namespace lanescope::exec::cuda {

// Lets the compiler give fused launches to GPUs where NVRTC is here. NVRTC is loaded when it first asks.
void OfferFusedLaunches();

// Where a kernel is launched, and the device's memory.
struct FusedPlace {
  Api* api = nullptr;
  int ordinal = 0;
  StreamHandle stream = nullptr;
  std::function<void*(int64_t bytes)> allocate;
  std::function<void(void*)> release;
};

// The kernel of a fused launch: compiled, or found in the cache. Throws what NVRTC fails with.
std::unique_ptr<Kernel> MakeCudaFusedKernel(const FusedPlace& place, const Graph& graph,
                                            const Schedule& schedule, const Command& command);

}  // namespace lanescope::exec::cuda
