// SPDX-License-Identifier: Apache-2.0
// Batch normalisation of one element, given what its channel holds, and its gradient. The single source of
// host loops and device kernels.
#pragma once

#include "exec/functors/unary.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

// 1 / sqrt(variance + epsilon).
LANESCOPE_HOST_DEVICE inline float InverseDeviation(float variance, float epsilon) {
  return Rsqrt()(variance + epsilon);
}

// y = (x - mean) * factor + offset, with the inverse deviation times the scale as factor.
struct Normalise {
  float mean, factor, offset;
  LANESCOPE_HOST_DEVICE float operator()(float x) const { return (x - mean) * factor + offset; }
};

// dx of the same, where mean and variance are those of the batch. slope: the mean of dy * (x - mean) times
// the square of the inverse deviation. It and dy_mean are 0 where mean and variance are given.
struct NormaliseGrad {
  float mean, factor, dy_mean, slope;
  LANESCOPE_HOST_DEVICE float operator()(float dy, float x) const {
    return factor * (dy - dy_mean - (x - mean) * slope);
  }
};

// The batch's mean or variance taken into the running one.
LANESCOPE_HOST_DEVICE inline float RunningAverage(float before, float batch, float weight) {
  return (1.0f - weight) * before + weight * batch;
}
// The estimate from `count` elements whose mean is their own.
LANESCOPE_HOST_DEVICE inline float UnbiasedVariance(float variance, int64_t count) {
  return count > 1 ? variance * (static_cast<float>(count) / static_cast<float>(count - 1)) : variance;
}

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
