// SPDX-License-Identifier: Apache-2.0
// The bodies of layers on host memory, and parts of RegisterNnKernels.
#pragma once

#include "exec/kernels/layer_plan.h"

namespace lanescope::exec {

struct HostLayers {
  static void AddBias(KernelContext& context, const BiasPlan& plan);
  static void SumBias(KernelContext& context, const BiasPlan& plan);
  static void MaxPool(KernelContext& context, const ImageWindows& windows);
  static void AvgPool(KernelContext& context, const ImageWindows& windows);
  static void MaxPoolGrad(KernelContext& context, const ImageWindows& windows);
  static void MaxPoolGradGrad(KernelContext& context, const ImageWindows& windows);
  static void AvgPoolGrad(KernelContext& context, const ImageWindows& windows);
  static void Lrn(KernelContext& context, const LrnPlan& plan);
  static void Softmax(KernelContext& context, const SoftmaxPlan& plan);
  static void CrossEntropy(KernelContext& context, const CrossEntropyPlan& plan);
  static void SparseCrossEntropy(KernelContext& context, const CrossEntropyPlan& plan);
};

void RegisterBatchNormKernels(KernelRegistry& registry);
void RegisterVolumePoolingKernels(KernelRegistry& registry);

}  // namespace lanescope::exec
