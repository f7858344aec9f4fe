// SPDX-License-Identifier: Apache-2.0
// The files of the state family; RegisterStateKernels calls them.
#pragma once

#include "exec/device/kernel.h"

namespace lanescope::exec {

void RegisterVariableKernels(KernelRegistry& registry);       // variables, reads, assignments
void RegisterScatterUpdateKernels(KernelRegistry& registry);  // Scatter* and ResourceScatter*
void RegisterOptimizerKernels(KernelRegistry& registry);      // Apply* and SparseApply*, Resource* of both

}  // namespace lanescope::exec
