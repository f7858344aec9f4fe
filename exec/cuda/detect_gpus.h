// SPDX-License-Identifier: Apache-2.0
// The GPUs that the driver shows, as a machine.
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "exec/cuda/api.h"
#include "exec/device/gpu_memory.h"

namespace lanescope::exec::cuda {

// Exec's functions of these names call these.
std::vector<int> UsableGpus(Api* api, std::vector<std::string>* notes);
Machine DescribeGpus(Api* api, const std::vector<int>& ordinals, const GpuMemoryOptions& options);
void CompleteGpus(Api* api, Machine* machine);

}  // namespace lanescope::exec::cuda
