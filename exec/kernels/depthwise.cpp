// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution and its gradients on host memory: every input channel has filters of its own.
#include "exec/kernels/depthwise.h"

#include <algorithm>

#include "exec/kernels/convolution_plan.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/padding_products.h"

namespace lanescope::exec {
namespace {

// Calls fn(offset in the image, offset in the filter, offset in the results) for the taps of windows of image
// rows [first, last) of results, of channel 0; taps outside of the image are left out.
template <typename Fn>
void ForEachTap(const ConvPlan& plan, int64_t first, int64_t last, const Fn& fn) {
  const ImageWindows& w = plan.windows;
  for (int64_t row = first; row < last; ++row) {
    for (int64_t tap_row = 0; tap_row < w.rows.size; ++tap_row) {
      const int64_t r = row * w.rows.stride - w.rows.before + tap_row * w.rows.dilation;
      if (r < 0 || r >= w.rows.in) continue;
      for (int64_t column = 0; column < w.columns.out; ++column) {
        for (int64_t tap = 0; tap < w.columns.size; ++tap) {
          const int64_t c = column * w.columns.stride - w.columns.before + tap * w.columns.dilation;
          if (c < 0 || c >= w.columns.in) continue;
          fn((r * w.columns.in + c) * w.channels, (tap_row * w.columns.size + tap) * plan.filters,
             (row * w.columns.out + column) * plan.filters);
        }
      }
    }
  }
}

int64_t ImageSize(const ConvPlan& plan) { return plan.windows.rows.in * plan.windows.in_row(); }
int64_t ResultSize(const ConvPlan& plan) {
  return plan.windows.rows.out * plan.windows.columns.out * plan.filters;
}

void DepthwiseForward(KernelContext& context, const ConvPlan& plan) {
  const int64_t rows = plan.windows.rows.out, row_size = plan.windows.columns.out * plan.filters;
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, row_size));
  DispatchReal("DepthwiseConv2dNative", context.input(0).dtype, [&]<typename T>(T) {
    const T* filter = context.input(1).as<T>();
    context.team().ParallelFor(plan.windows.batch * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const T* x = context.input(0).as<T>() + at / rows * ImageSize(plan);
        T* y = context.output().as<T>() + at / rows * ResultSize(plan);
        std::fill_n(y + at % rows * row_size, row_size, T(0));
        ForEachTap(plan, at % rows, at % rows + 1, [&](int64_t in, int64_t tap, int64_t out) {
          for (int64_t c = 0; c < plan.windows.channels; ++c) {
            for (int64_t m = 0; m < plan.multiplier; ++m) {
              const int64_t k = c * plan.multiplier + m;
              y[out + k] += x[in + c] * filter[tap + k];
            }
          }
        });
      }
    });
    MultiplyPadding<T>(plan, 1, filter, context.output().as<T>());
  });
}

void DepthwiseInputGrad(KernelContext& context, const ConvPlan& plan) {
  DispatchReal("DepthwiseConv2dNativeBackpropInput", context.input(1).dtype, [&]<typename T>(T) {
    const T* filter = context.input(1).as<T>();
    context.team().ParallelFor(plan.windows.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        T* dx = context.output().as<T>() + image * ImageSize(plan);
        const T* dy = context.input(2).as<T>() + image * ResultSize(plan);
        std::fill_n(dx, ImageSize(plan), T(0));
        ForEachTap(plan, 0, plan.windows.rows.out, [&](int64_t in, int64_t tap, int64_t out) {
          for (int64_t c = 0; c < plan.windows.channels; ++c) {
            for (int64_t m = 0; m < plan.multiplier; ++m) {
              const int64_t k = c * plan.multiplier + m;
              dx[in + c] += dy[out + k] * filter[tap + k];
            }
          }
        });
      }
    });
    MultiplyPaddingOfInputGrad<T>(plan, filter, context.output().as<T>());
  });
}

// Channels are apart from each other, so that the order of sums does not depend on the workers.
void DepthwiseFilterGrad(KernelContext& context, const ConvPlan& plan) {
  constexpr int64_t kChannelsAtOnce = 16;
  DispatchReal("DepthwiseConv2dNativeBackpropFilter", context.input(0).dtype, [&]<typename T>(T) {
    T* df = context.output().as<T>();
    std::fill_n(df, context.output().NumElements(), T(0));
    context.team().ParallelFor(plan.windows.channels, kChannelsAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t image = 0; image < plan.windows.batch; ++image) {
        const T* x = context.input(0).as<T>() + image * ImageSize(plan);
        const T* dy = context.input(2).as<T>() + image * ResultSize(plan);
        ForEachTap(plan, 0, plan.windows.rows.out, [&](int64_t in, int64_t tap, int64_t out) {
          for (int64_t c = begin; c < end; ++c) {
            for (int64_t m = 0; m < plan.multiplier; ++m) {
              const int64_t k = c * plan.multiplier + m;
              df[tap + k] += x[in + c] * dy[out + k];
            }
          }
        });
      }
    });
    MultiplyPaddingOfFilterGrad<T>(plan, 1, context.input(2).as<T>(), df);
  });
}

}  // namespace

void RegisterDepthwiseKernels(KernelRegistry& registry) {
  RegisterConvolutionOps<DepthwiseForward, DepthwiseInputGrad, DepthwiseFilterGrad>(registry,
                                                                                    "DepthwiseConv2dNative");
}

}  // namespace lanescope::exec
