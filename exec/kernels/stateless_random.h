// SPDX-License-Identifier: Apache-2.0
// The random family's file for streams that follow from a seed.
#pragma once

#include "exec/device/kernel.h"
#include "exec/functors/philox.h"

namespace lanescope::exec {

// The stream that a seed, a tensor of two numbers, begins.
Philox StreamOfSeed(const TensorRef& seed);

// Key, counter and algorithm of a seed.
void RegisterStatelessRandomKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
