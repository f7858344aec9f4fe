// SPDX-License-Identifier: Apache-2.0
// Bodies of network layers on device memory.
#pragma once

#include <cstdint>

#include "exec/cuda/kernels/broadcast_map.h"
#include "exec/cuda/kernels/window_index.h"
#include "exec/kernels/layer_plan.h"

namespace lanescope::exec::cuda {

class Launch;

// Softmax, or its logarithm, of each of `rows` rows. T is float or double; y may be x.
template <typename T>
void RunSoftmax(Launch& launch, bool log, int64_t rows, int64_t classes, const T* x, T* y);

// loss[row] = -sum(labels * log softmax(features)), gradient = softmax(features) - labels. Rows or columns of
// either input may be repeated.
template <typename T>
void RunCrossEntropy(Launch& launch, int64_t rows, int64_t classes, const T* features, Repeated feature_steps,
                     const T* labels, Repeated label_steps, T* loss, T* gradient);
// As above for one class a row, of index_bytes each. A class out of range makes the row NaN.
template <typename T>
void RunSparseCrossEntropy(Launch& launch, int64_t rows, int64_t classes, const T* features,
                           const void* labels, int index_bytes, T* loss, T* gradient);

// Local response normalisation over rows of `depth` channels.
struct LrnSpec {
  int64_t radius;
  float bias;
  float alpha;
  float beta;
};
void RunLrn(Launch& launch, const LrnSpec& spec, int64_t pixels, int64_t depth, const float* x, float* y);
void RunLrnGrad(Launch& launch, const LrnSpec& spec, int64_t pixels, int64_t depth, const float* x,
                const float* y, const float* dy, float* dx);

template <typename T>
void RunMaxPool(Launch& launch, const PoolMap& map, const T* x, T* y);
// The gradient of each window goes to its first element that equals y. Takes scratch memory.
template <typename T>
void RunMaxPoolGrad(Launch& launch, const PoolMap& map, const T* x, const T* y, const T* dy, T* dx);
// Each window takes the gradient, which is shaped like x, at its first element that equals y; 0 without one.
// Takes scratch memory.
template <typename T>
void RunMaxPoolGradGrad(Launch& launch, const PoolMap& map, const T* x, const T* y, const T* gradient,
                        T* out);
// The mean of the cells of a window that lie inside the image.
template <typename T>
void RunAvgPool(Launch& launch, const PoolMap& map, const T* x, T* y);
template <typename T>
void RunAvgPoolGrad(Launch& launch, const PoolMap& map, const T* dy, T* dx);

}  // namespace lanescope::exec::cuda
