// SPDX-License-Identifier: Apache-2.0
// Batch normalisation of images [outer, channels, inner] on device memory.
#pragma once

#include "exec/cuda/kernels/divider.h"
#include "exec/kernels/batch_norm.h"

namespace lanescope::exec::cuda {

class Launch;

// Pointers to device memory. mean and variance are those of the batch, which are written, or, without
// training, the given ones.
struct BatchNormStep {
  const float *x, *scale, *offset;
  const float *running_mean, *running_variance;  // read where the weight of the batch is not 1
  float *y, *mean, *variance;
  float *average, *spread;  // what the moving averages become
};
void RunBatchNorm(Launch& launch, const BatchNormSpec& spec, const ChannelShape& shape,
                  const BatchNormStep& step);

struct BatchNormGradStep {
  const float *dy, *x, *scale, *mean, *variance;
  float *dx, *scale_grad, *offset_grad;
};
void RunBatchNormGrad(Launch& launch, const BatchNormSpec& spec, const ChannelShape& shape,
                      const BatchNormGradStep& step);

}  // namespace lanescope::exec::cuda
