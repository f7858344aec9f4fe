// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN: convolution_cudnn.cu where the build has it, convolution_no_cudnn.cpp where it has
// not.
#pragma once

#include "exec/cuda/kernels/convolution.h"

namespace lanescope::exec::cuda {

// False: cuDNN does not do this convolution, and `out`, `dx` or `dfilter` is as it was.
bool CudnnConvolution(Launch& launch, const ConvSpec& spec, const float* images, const float* filter,
                      float* out);
bool CudnnInputGrad(Launch& launch, const ConvSpec& spec, const float* filter, const float* dy, float* dx);
bool CudnnFilterGrad(Launch& launch, const ConvSpec& spec, const float* images, const float* dy,
                     float* dfilter);

}  // namespace lanescope::exec::cuda
