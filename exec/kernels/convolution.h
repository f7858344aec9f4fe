// SPDX-License-Identifier: Apache-2.0
// The product of patches and filters, which convolution and its gradients share on host memory.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/kernels/convolution_plan.h"
#include "exec/kernels/patches.h"

namespace lanescope::exec {

// Elements of k x n in panels.
inline int64_t PanelElements(int64_t k, int64_t n, int64_t panel) {
  return k * ((n + panel - 1) / panel * panel);
}

// out[position][0, n) = patch * filter for every position, the filter in panels.
template <typename T>
void Convolve(WorkerTeam& team, const ImageWindows& geometry, const T* images, const T* panels, int64_t n,
              const PositionedOutput<T>& out);

void ConvolveInputGrad(KernelContext& context, const ConvPlan& plan);
void ConvolveFilterGrad(KernelContext& context, const ConvPlan& plan);

}  // namespace lanescope::exec
