// SPDX-License-Identifier: Apache-2.0
// Products of the padding of convolutions. Padding is zero, and 0 * Inf and 0 * NaN are NaN:
// TensorFlow's own kernels (not oneDNN's) multiply it, those here leave it out (patches.h) and add what comes
// of it afterwards, where there is something that is not finite. The gradient by the images is the exception,
// in TensorFlow too: only that of a depthwise convolution multiplies taps that meet no gradient.
#pragma once

#include <cstdint>

#include "exec/kernels/convolution_plan.h"

namespace lanescope::exec {

// `depth`: how many elements of a filter below one tap go into one channel of the result: the channels of
// the images, or one where every channel has filters of its own.

// results: of the forward convolution, complete but for the padding.
template <typename T>
void MultiplyPadding(const ConvPlan& plan, int64_t depth, const T* filter, T* results);

// sums: the filter's gradient, complete but for the padding.
template <typename T>
void MultiplyPaddingOfFilterGrad(const ConvPlan& plan, int64_t depth, const T* gradient, T* sums);

// images: the gradient by the images of a depthwise convolution, complete but for the padding of its
// gradient.
template <typename T>
void MultiplyPaddingOfInputGrad(const ConvPlan& plan, const T* filter, T* images);

}  // namespace lanescope::exec
