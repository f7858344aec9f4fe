// SPDX-License-Identifier: Apache-2.0
// Kernels of half and bfloat16 made of those of float: operands become floats, results are rounded once.
// Internal to exec.
#pragma once

#include <memory>

#include "exec/device/kernel.h"

namespace lanescope::exec {

// Whether the node computes with half or bfloat16 and its op has a kernel for float alone.
bool IsWidened(const Node& node);
// `kernels` has its op for float and outlives what is made.
std::unique_ptr<Kernel> MakeWidened(const Node& node, const KernelRegistry& kernels);

}  // namespace lanescope::exec
