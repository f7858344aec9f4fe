// SPDX-License-Identifier: Apache-2.0
// The most that a GPU can do by its driver's facts: the figures of a data sheet.
#pragma once

#include "core/machine/machine.h"
#include "exec/cuda/api.h"

namespace lanescope::exec::cuda {

// Peaks of so many multiprocessors of the GPU, and the bandwidth of its memory. Rates whose clock the driver
// does not say, or whose units this program does not know, stay unknown.
void RateGpu(const GpuProperties& properties, int multiprocessors, DeviceSpec* device);

}  // namespace lanescope::exec::cuda
