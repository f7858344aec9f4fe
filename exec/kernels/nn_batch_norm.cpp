// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "exec/functors/batch_norm.h"
#include "exec/kernels/batch_norm.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/kernels/reduce.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

// Elements of the blocks that rows of channels are worked on in: read twice, they come from cache.
constexpr int64_t kNormBlockElements = 16 * 1024;

struct NormSums;

// Splits rows of channels in blocks of a size that depends on the shape alone.
struct RowBlocks {
  explicit RowBlocks(const ChannelShape& shape)
      : rows(shape.outer),
        per_block(std::max<int64_t>(kFewestRows, kNormBlockElements / std::max<int64_t>(1, shape.channels))),
        count((rows + per_block - 1) / per_block) {}
  int64_t size(int64_t block) const { return std::min(per_block, rows - block * per_block); }

  static constexpr int64_t kFewestRows = 8;
  int64_t rows, per_block, count;
};

// Channels last: mean and variance of every channel. Each block sums up the deviations from its own mean.
void MeasureRows(WorkerTeam& team, const ChannelShape& shape, const float* x, float* mean, float* variance) {
  const RowBlocks blocks(shape);
  const int64_t n = shape.channels;
  float* means = ThreadScratch<NormSums, float>(2 * blocks.count * n);
  float* squares = means + blocks.count * n;
  team.ParallelFor(blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      HostLoops().norm.moments(blocks.size(b), n, x + b * blocks.per_block * n, means + b * n,
                               squares + b * n);
  });
  const auto count = static_cast<double>(blocks.rows);
  for (int64_t c = 0; c < n; ++c) {
    double sum = 0, deviations = 0;
    for (int64_t b = 0; b < blocks.count; ++b)
      sum += static_cast<double>(blocks.size(b)) * static_cast<double>(means[b * n + c]);
    for (int64_t b = 0; b < blocks.count; ++b) {
      const double shift = static_cast<double>(means[b * n + c]) - sum / count;
      deviations +=
          static_cast<double>(squares[b * n + c]) + static_cast<double>(blocks.size(b)) * shift * shift;
    }
    mean[c] = static_cast<float>(sum / count);
    variance[c] = static_cast<float>(deviations / count);
  }
}

// Channels last: the sums of dy and of dy * (x - mean) of every channel.
void SumGradientRows(WorkerTeam& team, const ChannelShape& shape, const float* dy, const float* x,
                     const float* mean, float* dy_sum, float* product_sum) {
  const RowBlocks blocks(shape);
  const int64_t n = shape.channels;
  float* dy_sums = ThreadScratch<NormSums, float>(2 * blocks.count * n);
  float* product_sums = dy_sums + blocks.count * n;
  team.ParallelFor(blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b * blocks.per_block * n;
      HostLoops().norm.grad_sums(blocks.size(b), n, dy + at, x + at, mean, dy_sums + b * n,
                                 product_sums + b * n);
    }
  });
  for (int64_t c = 0; c < n; ++c) {
    double dys = 0, products = 0;
    for (int64_t b = 0; b < blocks.count; ++b) {
      dys += static_cast<double>(dy_sums[b * n + c]);
      products += static_cast<double>(product_sums[b * n + c]);
    }
    dy_sum[c] = static_cast<float>(dys);
    product_sum[c] = static_cast<float>(products);
  }
}

// Channels first: calls fn(element, channel) for every element.
template <typename Fn>
void ForEachElement(WorkerTeam& team, const ChannelShape& shape, const Fn& fn) {
  team.ParallelFor(shape.outer * shape.channels,
                   std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, shape.inner)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t run = begin; run < end; ++run) {
                       for (int64_t i = 0; i < shape.inner; ++i)
                         fn(run * shape.inner + i, run % shape.channels);
                     }
                   });
}

// result[channel] = sum over its elements of x, or of their squares.
void SumChannels(WorkerTeam& team, ReduceOp op, const ChannelShape& shape, const float* x, float* result) {
  ReducedDims reduced{};
  reduced[0] = reduced[2] = true;
  ReduceTensor(team, op, LoopType::kFloat, sizeof(float), shape.shape(), reduced, x, result);
}

// Calls fn(first element, rows) for blocks of rows of channels.
template <typename Fn>
void ForRows(WorkerTeam& team, const ChannelShape& shape, const Fn& fn) {
  const RowBlocks blocks(shape);
  team.ParallelFor(blocks.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) fn(b * blocks.per_block * shape.channels, blocks.size(b));
  });
}

class FusedBatchNormKernel final : public Kernel {
 public:
  explicit FusedBatchNormKernel(const Node& node) : spec_(node) {}

  void Compute(KernelContext& context) override {
    const ChannelShape shape = PrepareBatchNorm(context, spec_);
    const auto channels = static_cast<size_t>(shape.channels);
    if (shape.elements() == 0) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      for (int i = 1; i < 5; ++i) std::fill_n(context.output(i).as<float>(), channels, i < 3 ? nan : 0.0f);
      return;
    }
    if (!spec_.training) {
      std::copy_n(context.input(3).as<float>(), channels, context.output(1).as<float>());
      std::copy_n(context.input(4).as<float>(), channels, context.output(2).as<float>());
      std::fill_n(context.output(3).as<float>(), channels, 0.0f);
      std::fill_n(context.output(4).as<float>(), channels, 0.0f);
      return Normalise(context, shape, context.input(3).as<float>(), context.input(4).as<float>());
    }
    float* mean = context.output(3).as<float>();
    float* variance = context.output(4).as<float>();
    Measure(context, shape, mean, variance);
    Average(context, shape, mean, variance);
    Normalise(context, shape, mean, variance);
  }

 private:
  static void Measure(KernelContext& context, const ChannelShape& shape, float* mean, float* variance) {
    const float* x = context.input(0).as<float>();
    if (shape.inner == 1) return MeasureRows(context.team(), shape, x, mean, variance);
    float* centred = context.output(0).as<float>();  // until the result is written there
    const auto count = static_cast<float>(shape.count());
    SumChannels(context.team(), ReduceOp::kSum, shape, x, mean);
    for (int64_t c = 0; c < shape.channels; ++c) mean[c] /= count;
    ForEachElement(context.team(), shape, [&](int64_t i, int64_t c) { centred[i] = x[i] - mean[c]; });
    SumChannels(context.team(), ReduceOp::kSumSquares, shape, centred, variance);
    for (int64_t c = 0; c < shape.channels; ++c) variance[c] /= count;
  }

  // Outputs 1 and 2: what the moving averages become.
  void Average(KernelContext& context, const ChannelShape& shape, const float* mean,
               const float* variance) const {
    for (int64_t c = 0; c < shape.channels; ++c) {
      float average = mean[c];
      float spread = functors::UnbiasedVariance(variance[c], shape.count());
      if (spec_.average_weight != 1.0f) {
        average = functors::RunningAverage(context.input(3).as<float>()[c], average, spec_.average_weight);
        spread = functors::RunningAverage(context.input(4).as<float>()[c], spread, spec_.average_weight);
      }
      context.output(1).as<float>()[c] = average;
      context.output(2).as<float>()[c] = spread;
    }
  }

  void Normalise(KernelContext& context, const ChannelShape& shape, const float* mean,
                 const float* variance) const {
    const float* offset = context.input(2).as<float>();
    std::vector<float> factors(static_cast<size_t>(shape.channels));
    for (int64_t c = 0; c < shape.channels; ++c) {
      factors[static_cast<size_t>(c)] =
          functors::InverseDeviation(variance[c], spec_.epsilon) * context.input(1).as<float>()[c];
    }
    const float* x = context.input(0).as<float>();
    const float* factor = factors.data();
    float* y = context.output(0).as<float>();
    if (shape.inner == 1) {
      return ForRows(context.team(), shape, [=](int64_t at, int64_t rows) {
        HostLoops().norm.normalise(rows, shape.channels, x + at, mean, factor, offset, y + at);
      });
    }
    ForEachElement(context.team(), shape, [=](int64_t i, int64_t c) {
      y[i] = functors::Normalise{mean[c], factor[c], offset[c]}(x[i]);
    });
  }

  BatchNormSpec spec_;
};

// Inputs: dy, x, scale, mean, variance.
class FusedBatchNormGradKernel final : public Kernel {
 public:
  explicit FusedBatchNormGradKernel(const Node& node) : spec_(node) {}

  void Compute(KernelContext& context) override {
    const ChannelShape shape = PrepareBatchNormGrad(context, spec_);
    const float* dy = context.input(0).as<float>();
    const float* x = context.input(1).as<float>();
    const float* scale = context.input(2).as<float>();
    const float* mean = context.input(3).as<float>();
    const float* variance = context.input(4).as<float>();
    float* dx = context.output(0).as<float>();
    float* scale_grad = context.output(1).as<float>();
    float* offset_grad = context.output(2).as<float>();
    if (shape.inner == 1) {
      SumGradientRows(context.team(), shape, dy, x, mean, offset_grad, scale_grad);
    } else {
      SumChannels(context.team(), ReduceOp::kSum, shape, dy, offset_grad);
      ForEachElement(context.team(), shape, [=](int64_t i, int64_t c) { dx[i] = dy[i] * (x[i] - mean[c]); });
      SumChannels(context.team(), ReduceOp::kSum, shape, dx, scale_grad);
    }
    const auto channels = static_cast<size_t>(shape.channels);
    std::vector<float> factors(channels), dy_means(channels, 0.0f), slopes(channels, 0.0f);
    const auto count = static_cast<float>(shape.count());
    for (size_t c = 0; c < channels; ++c) {
      const float inverse = functors::InverseDeviation(variance[c], spec_.epsilon);
      factors[c] = inverse * scale[c];
      if (spec_.training) {
        dy_means[c] = offset_grad[c] / count;
        slopes[c] = inverse * inverse * (scale_grad[c] / count);
      }
      scale_grad[c] *= inverse;
    }
    const float *factor = factors.data(), *dy_mean = dy_means.data(), *slope = slopes.data();
    if (shape.inner == 1) {
      return ForRows(context.team(), shape, [=](int64_t at, int64_t rows) {
        HostLoops().norm.normalise_grad(rows, shape.channels, dy + at, x + at, mean, factor, dy_mean, slope,
                                        dx + at);
      });
    }
    ForEachElement(context.team(), shape, [=](int64_t i, int64_t c) {
      dx[i] = functors::NormaliseGrad{mean[c], factor[c], dy_mean[c], slope[c]}(dy[i], x[i]);
    });
  }

 private:
  BatchNormSpec spec_;
};

}  // namespace

void RegisterBatchNormKernels(KernelRegistry& registry) {
  for (const std::string version : {"", "V2", "V3"}) {
    registry.Register("FusedBatchNorm" + version, MakeKernel<FusedBatchNormKernel>);
    registry.Register("FusedBatchNormGrad" + version, MakeKernel<FusedBatchNormGradKernel>);
  }
}

}  // namespace lanescope::exec
