// SPDX-License-Identifier: Apache-2.0
// Convolutions on device memory and their gradients; T is float or double. cuDNN does those that it can where
// the build has it, products of patches the others.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/window_index.h"

namespace lanescope::exec::cuda {

class Launch;

// Images [batch, rows.in, columns.in, channels], filters [rows.size, columns.size, channels, filters].
struct ConvSpec {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t filters = 0;
  WindowAxis rows;
  WindowAxis columns;

  int64_t patch() const { return rows.size * columns.size * channels; }
  int64_t positions() const { return batch * rows.out * columns.out; }
};

// The limit of a convolution's scratch memory beside a copy of its filter: enough to fill a large GPU,
// little beside its memory.
constexpr int64_t kConvolutionScratch = int64_t{128} << 20;

template <typename T>
void RunConvolution(Launch& launch, const ConvSpec& spec, const T* images, const T* filter, T* out);
// `spec` is the forward convolution's in both.
template <typename T>
void RunConvolutionInputGrad(Launch& launch, const ConvSpec& spec, const T* filter, const T* dy, T* dx);
template <typename T>
void RunConvolutionFilterGrad(Launch& launch, const ConvSpec& spec, const T* images, const T* dy, T* dfilter);

}  // namespace lanescope::exec::cuda
