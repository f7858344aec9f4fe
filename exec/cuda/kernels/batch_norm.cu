// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/batch_norm.h"
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/reduce.h"
#include "exec/functors/batch_norm.h"

namespace lanescope::exec::cuda {
namespace {

// The channel of element i of [outer, channels, inner].
struct ChannelMap {
  Divider inner, channels;
  explicit ChannelMap(const ChannelShape& shape) : inner(shape.inner), channels(shape.channels) {}
  __device__ int64_t operator()(int64_t i) const {
    inner.Split(i);
    return channels.Split(i);
  }
};

__global__ void CentreKernel(int64_t n, ChannelMap channel, const float* x, const float* mean, float* y) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) y[i] = x[i] - mean[channel(i)];
}

__global__ void NormaliseKernel(int64_t n, ChannelMap channel, float epsilon, BatchNormStep step) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    const int64_t c = channel(i);
    const float factor = functors::InverseDeviation(step.variance[c], epsilon) * step.scale[c];
    step.y[i] = functors::Normalise{step.mean[c], factor, step.offset[c]}(step.x[i]);
  }
}

__global__ void AverageKernel(int64_t channels, int64_t count, float weight, BatchNormStep step) {
  for (int64_t c = ThreadIndex(); c < channels; c += ThreadCount()) {
    float average = count == 0 ? NAN : step.mean[c];
    float spread = count == 0 ? NAN : functors::UnbiasedVariance(step.variance[c], count);
    if (count > 0 && weight != 1.0f) {
      average = functors::RunningAverage(step.running_mean[c], average, weight);
      spread = functors::RunningAverage(step.running_variance[c], spread, weight);
    }
    step.average[c] = average;
    step.spread[c] = spread;
  }
}

__global__ void ProductKernel(int64_t n, ChannelMap channel, BatchNormGradStep step) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    step.dx[i] = step.dy[i] * (step.x[i] - step.mean[channel(i)]);
  }
}

// scale_grad holds the sums of dy * (x - mean).
__global__ void InputGradKernel(int64_t n, ChannelMap channel, float epsilon, bool training, float count,
                                BatchNormGradStep step) {
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) {
    const int64_t c = channel(i);
    const float inverse = functors::InverseDeviation(step.variance[c], epsilon);
    const float dy_mean = training ? step.offset_grad[c] / count : 0.0f;
    const float slope = training ? inverse * inverse * (step.scale_grad[c] / count) : 0.0f;
    step.dx[i] =
        functors::NormaliseGrad{step.mean[c], inverse * step.scale[c], dy_mean, slope}(step.dy[i], step.x[i]);
  }
}

__global__ void ScaleGradKernel(int64_t channels, float epsilon, BatchNormGradStep step) {
  for (int64_t c = ThreadIndex(); c < channels; c += ThreadCount()) {
    step.scale_grad[c] *= functors::InverseDeviation(step.variance[c], epsilon);
  }
}

void ReduceChannels(Launch& launch, ReduceOp op, Finish finish, const ChannelShape& shape, const float* x,
                    float* result) {
  std::array<bool, Shape::kMaxRank> gone{};
  gone[0] = gone[2] = true;
  RunReduce(launch, {op, finish, shape.count()}, DataType::kFloat, shape.shape(), gone, x, result);
}

}  // namespace

void RunBatchNorm(Launch& launch, const BatchNormSpec& spec, const ChannelShape& shape,
                  const BatchNormStep& step) {
  const int64_t n = shape.elements();
  if (shape.channels == 0) return;
  if (spec.training && n > 0) {
    ReduceChannels(launch, ReduceOp::kSum, Finish::kDivide, shape, step.x, step.mean);
    CentreKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, ChannelMap(shape), step.x, step.mean,
                                                                 step.y);
    CheckLaunch("batch normalisation");
    ReduceChannels(launch, ReduceOp::kSumSquares, Finish::kDivide, shape, step.y, step.variance);
  }
  if (spec.training || n == 0) {
    AverageKernel<<<BlocksFor(shape.channels), kThreads, 0, launch.stream()>>>(shape.channels, shape.count(),
                                                                               spec.average_weight, step);
    CheckLaunch("batch normalisation");
  }
  if (n == 0) return;
  NormaliseKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, ChannelMap(shape), spec.epsilon, step);
  CheckLaunch("batch normalisation");
}

void RunBatchNormGrad(Launch& launch, const BatchNormSpec& spec, const ChannelShape& shape,
                      const BatchNormGradStep& step) {
  const int64_t n = shape.elements();
  if (n == 0) return;
  ReduceChannels(launch, ReduceOp::kSum, Finish::kNone, shape, step.dy, step.offset_grad);
  ProductKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(n, ChannelMap(shape), step);
  CheckLaunch("a gradient of batch normalisation");
  ReduceChannels(launch, ReduceOp::kSum, Finish::kNone, shape, step.dx, step.scale_grad);
  InputGradKernel<<<BlocksFor(n), kThreads, 0, launch.stream()>>>(
      n, ChannelMap(shape), spec.epsilon, spec.training, static_cast<float>(shape.count()), step);
  CheckLaunch("a gradient of batch normalisation");
  ScaleGradKernel<<<BlocksFor(shape.channels), kThreads, 0, launch.stream()>>>(shape.channels, spec.epsilon,
                                                                               step);
  CheckLaunch("a gradient of batch normalisation");
}

}  // namespace lanescope::exec::cuda
