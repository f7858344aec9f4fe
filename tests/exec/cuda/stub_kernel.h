// The stub's kernels: the host's, run when the stub's streams get to them.
#pragma once

#include "exec/kernel.h"

namespace lanescope::exec::test {

// All ops that the host has.
void RegisterStubKernels(KernelRegistry* registry);

}  // namespace lanescope::exec::test
