// SPDX-License-Identifier: Apache-2.0
// The headers that kernels made at run time include, carried in the program. Internal to exec/cuda.
#pragma once

#include <span>

namespace lanescope::exec::cuda {

struct CarriedHeader {
  const char* name;  // as it is included
  const char* text;
};

// exec/functors, and the few names that it takes of the standard library, which NVRTC has not.
std::span<const CarriedHeader> FunctorHeaders();

}  // namespace lanescope::exec::cuda
