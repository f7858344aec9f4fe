// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products: patches of blocks of positions are written out in scratch memory and
// multiplied there.
#pragma once

#include "exec/cuda/kernels/convolution.h"

namespace lanescope::exec::cuda {

template <typename T>
void PatchConvolution(Launch& launch, const ConvSpec& spec, const T* images, const T* filter, T* out);
// The gradient by the images is the convolution of dy, seen with its strides filled by zeros, with the filter
// turned by 180 degrees and channels and filters exchanged.
template <typename T>
void PatchInputGrad(Launch& launch, const ConvSpec& spec, const T* filter, const T* dy, T* dx);
template <typename T>
void PatchFilterGrad(Launch& launch, const ConvSpec& spec, const T* images, const T* dy, T* dfilter);

}  // namespace lanescope::exec::cuda
