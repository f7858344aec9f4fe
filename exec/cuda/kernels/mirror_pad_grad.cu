// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/movement.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
__global__ void MirrorPadGradKernel(MirrorPadGradMap map, int64_t n, T* to, const T* padded) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) to[i] = map.Sum(i, padded);
}

}  // namespace

template <typename T>
void RunMirrorPadGrad(Launch& launch, const MirrorPadGradMap& map, int64_t elements, T* to, const T* padded) {
  if (elements == 0) return;
  MirrorPadGradKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(map, elements, to, padded);
  CheckLaunch("MirrorPadGrad");
}
template void RunMirrorPadGrad(Launch&, const MirrorPadGradMap&, int64_t, float*, const float*);
template void RunMirrorPadGrad(Launch&, const MirrorPadGradMap&, int64_t, double*, const double*);

}  // namespace lanescope::exec::cuda
