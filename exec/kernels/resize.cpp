// SPDX-License-Identifier: Apache-2.0
// Resized images and their gradients on host memory.
#include <algorithm>
#include <cstring>

#include "exec/kernels/array_kernels.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/resize_plan.h"

namespace lanescope::exec {
namespace {

// Calls row(image, i) for every row of every resized image, split over the team.
template <typename Row>
void ForEachResizedRow(WorkerTeam& team, const ResizePlan& plan, const Row& row) {
  const auto rows = static_cast<int64_t>(plan.rows.size());
  const int64_t length = std::max<int64_t>(1, static_cast<int64_t>(plan.columns.size()) * plan.channels);
  team.ParallelFor(plan.batch * rows, std::max<int64_t>(1, kElementGrain / length),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) row(i / rows, i % rows);
                   });
}

template <typename T>
void Interpolate(KernelContext& context, const ResizePlan& plan) {
  const T* images = context.input(0).as<const T>();
  float* out = context.output().as<float>();
  const int64_t channels = plan.channels;
  const auto length = static_cast<int64_t>(plan.columns.size()) * channels;
  const auto rows = static_cast<int64_t>(plan.rows.size());
  ForEachResizedRow(context.team(), plan, [&](int64_t image, int64_t i) {
    const ResizedLine& line = plan.rows[static_cast<size_t>(i)];
    const T* top = images + (image * plan.height + line.lower) * plan.width * channels;
    const T* bottom = images + (image * plan.height + line.upper) * plan.width * channels;
    float* to = out + (image * rows + i) * length;
    for (const ResizedLine& column : plan.columns) {
      const int64_t left = column.lower * channels, right = column.upper * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const auto mix = [&](const T* row) {
          const auto from = static_cast<float>(row[left + c]);
          return from + (static_cast<float>(row[right + c]) - from) * column.share;
        };
        const float above = mix(top);
        *to++ = above + (mix(bottom) - above) * line.share;
      }
    }
  });
}

template <typename Fn>
void DispatchPixel(std::string_view op, DataType dtype, Fn&& fn) {
  switch (dtype) {
    case DataType::kUint8:
      return fn(uint8_t{});
    case DataType::kInt8:
      return fn(int8_t{});
    case DataType::kUint16:
      return fn(uint16_t{});
    case DataType::kInt16:
      return fn(int16_t{});
    default:
      DispatchNumber(op, dtype, std::forward<Fn>(fn));
  }
}

void ResizeBilinear(KernelContext& context, const ResizePlan& plan) {
  DispatchPixel("ResizeBilinear", context.input(0).dtype,
                [&]<typename T>(T) { Interpolate<T>(context, plan); });
}

// Calls add(image's part of the gradient, resized image's, channels) pixel by pixel: an image is the work of
// one worker.
template <typename T, typename From, typename AddRow>
void SumResized(KernelContext& context, const ResizePlan& plan, const AddRow& add) {
  const From* grads = context.input(0).as<const From>();
  T* out = context.output().as<T>();
  context.team().ParallelFor(plan.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      T* to = out + image * plan.image_elements();
      std::fill_n(to, plan.image_elements(), T{0});
      const From* from = grads + image * plan.resized_elements();
      for (const ResizedLine& row : plan.rows) {
        for (const ResizedLine& column : plan.columns) {
          add(row, column, from, to);
          from += plan.channels;
        }
      }
    }
  });
}

void ResizeBilinearGrad(KernelContext& context, const ResizePlan& plan) {
  DispatchReal("ResizeBilinearGrad", context.output().dtype, [&]<typename T>(T) {
    SumResized<T, float>(context, plan,
                         [&](const ResizedLine& row, const ResizedLine& column, const float* from, T* to) {
                           const auto spread = [&](int64_t y, int64_t x, float share) {
                             T* pixel = to + (y * plan.width + x) * plan.channels;
                             for (int64_t c = 0; c < plan.channels; ++c)
                               pixel[c] += static_cast<T>(from[c] * share);
                           };
                           const float above = 1 - row.share, left = 1 - column.share;
                           spread(row.lower, column.lower, above * left);
                           spread(row.lower, column.upper, above * column.share);
                           spread(row.upper, column.lower, row.share * left);
                           spread(row.upper, column.upper, row.share * column.share);
                         });
  });
}

void ResizeNearest(KernelContext& context, const ResizePlan& plan) {
  const TensorRef& images = context.input(0);
  DispatchBySize(images.dtype, [&]<typename T>(T) {
    const auto rows = static_cast<int64_t>(plan.rows.size());
    const auto length = static_cast<int64_t>(plan.columns.size()) * plan.channels;
    ForEachResizedRow(context.team(), plan, [&](int64_t image, int64_t i) {
      const int64_t y = plan.rows[static_cast<size_t>(i)].lower;
      const T* row = images.as<const T>() + (image * plan.height + y) * plan.width * plan.channels;
      T* to = context.output().as<T>() + (image * rows + i) * length;
      for (const ResizedLine& column : plan.columns) {
        to = std::copy_n(row + column.lower * plan.channels, plan.channels, to);
      }
    });
  });
}

void ResizeNearestGrad(KernelContext& context, const ResizePlan& plan) {
  DispatchPixel("ResizeNearestNeighborGrad", context.output().dtype, [&]<typename T>(T) {
    SumResized<T, T>(context, plan,
                     [&](const ResizedLine& row, const ResizedLine& column, const T* from, T* to) {
                       T* pixel = to + (row.lower * plan.width + column.lower) * plan.channels;
                       for (int64_t c = 0; c < plan.channels; ++c)
                         pixel[c] = static_cast<T>(pixel[c] + from[c]);
                     });
  });
}

}  // namespace

void RegisterResizeKernels(KernelRegistry& registry) {
  RegisterOp<ResizeOp, ResizeBilinear>(registry, "ResizeBilinear");
  RegisterOp<ResizeOp, ResizeBilinearGrad>(registry, "ResizeBilinearGrad");
  RegisterOp<ResizeOp, ResizeNearest>(registry, "ResizeNearestNeighbor");
  RegisterOp<ResizeOp, ResizeNearestGrad>(registry, "ResizeNearestNeighborGrad");
}

}  // namespace lanescope::exec
