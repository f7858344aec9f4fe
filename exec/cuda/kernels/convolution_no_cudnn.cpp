// SPDX-License-Identifier: Apache-2.0
// In place of convolution_cudnn.cu where the build has no cuDNN.
#include "exec/cuda/kernels/convolution_cudnn.h"

namespace lanescope::exec::cuda {

bool CudnnConvolution(Launch&, const ConvSpec&, const float*, const float*, float*) { return false; }
bool CudnnInputGrad(Launch&, const ConvSpec&, const float*, const float*, float*) { return false; }
bool CudnnFilterGrad(Launch&, const ConvSpec&, const float*, const float*, float*) { return false; }

}  // namespace lanescope::exec::cuda
