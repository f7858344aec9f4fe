// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/convolution.h"

#include <type_traits>

#include "exec/cuda/kernels/convolution_cudnn.h"
#include "exec/cuda/kernels/convolution_patches.h"

namespace lanescope::exec::cuda {

// cuDNN has no convolutions of doubles in the layout of TensorFlow's images.

template <typename T>
void RunConvolution(Launch& launch, const ConvSpec& spec, const T* images, const T* filter, T* out) {
  if constexpr (std::is_same_v<T, float>) {
    if (CudnnConvolution(launch, spec, images, filter, out)) return;
  }
  PatchConvolution(launch, spec, images, filter, out);
}

template <typename T>
void RunConvolutionInputGrad(Launch& launch, const ConvSpec& spec, const T* filter, const T* dy, T* dx) {
  if constexpr (std::is_same_v<T, float>) {
    if (CudnnInputGrad(launch, spec, filter, dy, dx)) return;
  }
  PatchInputGrad(launch, spec, filter, dy, dx);
}

template <typename T>
void RunConvolutionFilterGrad(Launch& launch, const ConvSpec& spec, const T* images, const T* dy,
                              T* dfilter) {
  if constexpr (std::is_same_v<T, float>) {
    if (CudnnFilterGrad(launch, spec, images, dy, dfilter)) return;
  }
  PatchFilterGrad(launch, spec, images, dy, dfilter);
}

#define LANESCOPE_CONVOLUTION_FOR(T)                                                          \
  template void RunConvolution<T>(Launch&, const ConvSpec&, const T*, const T*, T*);          \
  template void RunConvolutionInputGrad<T>(Launch&, const ConvSpec&, const T*, const T*, T*); \
  template void RunConvolutionFilterGrad<T>(Launch&, const ConvSpec&, const T*, const T*, T*);
LANESCOPE_CONVOLUTION_FOR(float)
LANESCOPE_CONVOLUTION_FOR(double)
#undef LANESCOPE_CONVOLUTION_FOR

}  // namespace lanescope::exec::cuda
