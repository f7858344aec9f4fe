// SPDX-License-Identifier: Apache-2.0
// Bodies of resized images and reversed sequences on device memory.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/index_reader.h"
#include "exec/kernels/resized_axis.h"

namespace lanescope::exec::cuda {

class Launch;

// Images [batch, down.of_image, across.of_image, channels] and as many of the resized sizes.
struct ResizeSpec {
  int64_t batch = 0, channels = 0;
  ResizedAxis down, across;
};

// T: float or double. Resized images are float, as in TensorFlow.
template <typename T>
void RunResizeBilinear(Launch& launch, const ResizeSpec& spec, const T* images, float* resized);
template <typename T>
void RunResizeBilinearGrad(Launch& launch, const ResizeSpec& spec, const float* grads, T* out);
void RunResizeNearest(Launch& launch, const ResizeSpec& spec, int64_t element_bytes, const void* images,
                      void* resized);
template <typename T>
void RunResizeNearestGrad(Launch& launch, const ResizeSpec& spec, const T* grads, T* out);

// Reverses as many elements of each row of the batch as its length says; lengths out of range count as
// none, or as the whole row.
struct ReverseSpec {
  int64_t elements = 0;
  int64_t sequence_stride = 0, sequence = 0;  // of the dimension that is reversed, and its size
  int64_t batch_stride = 0, batch = 0;        // of the dimension that has a length each
};
void RunReverseSequence(Launch& launch, const ReverseSpec& spec, int64_t element_bytes, IndexReader lengths,
                        const void* from, void* to);

}  // namespace lanescope::exec::cuda
