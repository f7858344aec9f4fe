// SPDX-License-Identifier: Apache-2.0
// Bodies of convolution and pooling of volumes on device memory; T is float or double.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/window_index.h"

namespace lanescope::exec::cuda {

class Launch;

// Volumes [batch, depth.in, height.in, width.in, channels] under windows; of gradients the forward op's.
struct VolumeSpec {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t filters = 0;  // channels of a convolution's result
  WindowAxis depth, height, width;

  LANESCOPE_HOST_DEVICE int64_t in_cells() const { return depth.in * height.in * width.in; }
  LANESCOPE_HOST_DEVICE int64_t out_cells() const { return depth.out * height.out * width.out; }
  LANESCOPE_HOST_DEVICE int64_t patch() const { return depth.size * height.size * width.size * channels; }
  int64_t positions() const { return batch * out_cells(); }
};

template <typename T>
void RunMaxPoolVolumes(Launch& launch, const VolumeSpec& spec, const T* x, T* y);
// The mean of the cells of a window that lie inside the volume.
template <typename T>
void RunAvgPoolVolumes(Launch& launch, const VolumeSpec& spec, const T* x, T* y);
// Every cell that equals its window's maximum takes the whole gradient of the window.
template <typename T>
void RunMaxPoolVolumesGrad(Launch& launch, const VolumeSpec& spec, const T* x, const T* y, const T* dy,
                           T* dx);
// Each window takes the gradient, which is shaped like x, at its first cell that equals y; 0 without one.
template <typename T>
void RunMaxPoolVolumesSecond(Launch& launch, const VolumeSpec& spec, const T* x, const T* y,
                             const T* gradient, T* out);
template <typename T>
void RunAvgPoolVolumesGrad(Launch& launch, const VolumeSpec& spec, const T* dy, T* dx);

// By products of patches; take scratch memory. Filters [depth, height, width, channels, filters].
template <typename T>
void RunConvolveVolumes(Launch& launch, const VolumeSpec& spec, const T* x, const T* filter, T* y);
template <typename T>
void RunConvolveVolumesInputGrad(Launch& launch, const VolumeSpec& spec, const T* filter, const T* dy, T* dx);
template <typename T>
void RunConvolveVolumesFilterGrad(Launch& launch, const VolumeSpec& spec, const T* x, const T* dy,
                                  T* dfilter);

}  // namespace lanescope::exec::cuda
