// Fills tensors on host memory from a place in a stream of random numbers.
#pragma once

#include "exec/kernels/random_plan.h"

namespace lanescope::exec {

void FillRandom(KernelContext& context, const RandomPlan& plan);
void FillIntegers(KernelContext& context, const RandomIntegersPlan& plan);

void RegisterStatelessRandomKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
