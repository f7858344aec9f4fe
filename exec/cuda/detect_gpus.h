// The GPUs that the driver shows, as a machine.
#pragma once

#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "exec/cuda/cuda_module.h"
#include "exec/gpu_machine.h"

namespace lanescope::exec::cuda {

// What exec's DetectGpus gives.
Machine DescribeGpus(CudaModule* module, const GpuMemoryOptions& options, std::vector<std::string>* notes);

}  // namespace lanescope::exec::cuda
