// SPDX-License-Identifier: Apache-2.0
// Bodies of depthwise convolution on device memory: every channel has `multiplier` filters of its own.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/window_index.h"

namespace lanescope::exec::cuda {

class Launch;

struct DepthwiseSpec {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t multiplier = 1;
  WindowAxis rows;
  WindowAxis columns;

  LANESCOPE_HOST_DEVICE int64_t filters() const { return channels * multiplier; }
};

// T: float or double. x: images, f: [rows, columns, channels, multiplier], y: results.
template <typename T>
void RunDepthwise(Launch& launch, const DepthwiseSpec& spec, const T* x, const T* f, T* y);
template <typename T>
void RunDepthwiseInputGrad(Launch& launch, const DepthwiseSpec& spec, const T* f, const T* dy, T* dx);
template <typename T>
void RunDepthwiseFilterGrad(Launch& launch, const DepthwiseSpec& spec, const T* x, const T* dy, T* df);

}  // namespace lanescope::exec::cuda
