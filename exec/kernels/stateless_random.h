// The random family's file for streams that follow from a seed.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec {

// Key, counter and algorithm of a seed.
void RegisterStatelessRandomKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
