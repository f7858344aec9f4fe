#include <algorithm>
#include <limits>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/kernels/tensor_access.h"
#include "exec/kernels/window.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

struct PoolGeometry {
  int64_t batch = 0;
  int64_t channels = 0;
  WindowDim rows;
  WindowDim columns;

  Shape OutputShape() const { return Shape{batch, rows.out, columns.out, channels}; }
  int64_t in_row() const { return columns.in * channels; }
  int64_t out_row() const { return columns.out * channels; }
};

// Cells [first, last) of the taps of window `out` that lie inside the image.
struct Taps {
  int64_t first;
  int64_t last;
};
Taps TapsInside(const WindowDim& dim, int64_t out) {
  const int64_t start = out * dim.stride - dim.before;
  return {std::max<int64_t>(0, start), std::min(dim.in, start + dim.size)};
}

// Calls fn(input cell, output cell, cells): tap `tap` of the windows of one row, as stretches of cells that
// are contiguous on both sides. Windows one cell apart make one stretch.
template <typename Fn>
void ForEachStretch(const WindowDim& dim, int64_t tap, const Fn& fn) {
  const int64_t shift = tap - dim.before;  // window o sees cell o * stride + shift
  const int64_t first = shift >= 0 ? 0 : (-shift + dim.stride - 1) / dim.stride;
  const int64_t last = dim.in > shift ? std::min(dim.out, (dim.in - shift - 1) / dim.stride + 1) : 0;
  if (dim.stride == 1) {
    if (first < last) fn(first + shift, first, last - first);
    return;
  }
  for (int64_t out = first; out < last; ++out) fn(out * dim.stride + shift, out, int64_t{1});
}

class PoolKernel : public Kernel {
 public:
  explicit PoolKernel(const Node& node) : attrs_(node), size_(SpatialAttr(node, "ksize")) {}

 protected:
  PoolGeometry Geometry(const Shape& images) const {
    if (images.rank() != 4) {
      Throw(Code::kInvalidArgument, "tensor_in must be 4-dimensional, not {}", images.ToString());
    }
    PoolGeometry geometry;
    geometry.batch = images[0];
    geometry.channels = images[3];
    geometry.rows = attrs_.Resolve(1, images[1], size_[0]);
    geometry.columns = attrs_.Resolve(2, images[2], size_[1]);
    return geometry;
  }

  static void CheckGradient(const PoolGeometry& geometry, const Shape& shape) {
    const Shape expected = geometry.OutputShape();
    if (shape == expected) return;
    Throw(Code::kInvalidArgument, "the pooled tensor has shape {}, but pooling gives {}", shape.ToString(),
          expected.ToString());
  }

  // Calls fn(image, output row) for every output row, split over the team.
  template <typename Fn>
  static void ForEachRow(WorkerTeam& team, const PoolGeometry& geometry, const Fn& fn) {
    const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, geometry.out_row()));
    team.ParallelFor(geometry.batch * geometry.rows.out, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) fn(row / geometry.rows.out, row % geometry.rows.out);
    });
  }

 private:
  WindowAttrs attrs_;
  std::array<int64_t, 2> size_;
};

class MaxPoolKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const PoolGeometry geometry = Geometry(x.shape);
    context.SetOutputShape(0, geometry.OutputShape());
    if (context.output().NumElements() == 0) return;
    DispatchReal("MaxPool", x.dtype, [&]<typename T>(T) {
      ForEachRow(context.team(), geometry, [&](int64_t image, int64_t row) {
        PoolRow(geometry, row, x.as<T>() + image * geometry.rows.in * geometry.in_row(),
                context.output().as<T>() + (image * geometry.rows.out + row) * geometry.out_row());
      });
    });
  }

 private:
  template <typename T>
  static void PoolRow(const PoolGeometry& geometry, int64_t row, const T* image, T* y) {
    const PoolLoops<T>& loops = HostLoops().pool<T>();
    const int64_t channels = geometry.channels;
    std::fill_n(y, geometry.out_row(), std::numeric_limits<T>::lowest());
    const Taps taps = TapsInside(geometry.rows, row);
    for (int64_t in_row = taps.first; in_row < taps.last; ++in_row) {
      const T* x = image + in_row * geometry.in_row();
      for (int64_t tap = 0; tap < geometry.columns.size; ++tap) {
        ForEachStretch(geometry.columns, tap, [&](int64_t in, int64_t out, int64_t cells) {
          loops.max(cells * channels, x + in * channels, y + out * channels);
        });
      }
    }
  }
};

// The gradient of each window goes to its first maximum. Inputs: x, y, dy.
class MaxPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const PoolGeometry geometry = Geometry(x.shape);
    CheckGradient(geometry, context.input(1).shape);
    CheckGradient(geometry, context.input(2).shape);
    context.SetOutputShape(0, x.shape);
    if (x.NumElements() == 0) return;
    const int64_t in_image = geometry.rows.in * geometry.in_row();
    const int64_t out_image = geometry.rows.out * geometry.out_row();
    DispatchReal("MaxPoolGrad", x.dtype, [&]<typename T>(T) {
      const int64_t grain = std::max<int64_t>(1, kElementGrain / in_image);
      context.team().ParallelFor(geometry.batch, grain, [&](int64_t begin, int64_t end) {
        for (int64_t image = begin; image < end; ++image) {
          GradImage(geometry, x.as<T>() + image * in_image, context.input(1).as<T>() + image * out_image,
                    context.input(2).as<T>() + image * out_image,
                    context.output().as<T>() + image * in_image);
        }
      });
    });
  }

 private:
  template <typename T>
  static void GradImage(const PoolGeometry& geometry, const T* x, const T* y, const T* dy, T* dx) {
    const PoolLoops<T>& loops = HostLoops().pool<T>();
    const int64_t channels = geometry.channels;
    thread_local std::vector<T> left;  // windows whose gradient still has no taker
    std::fill_n(dx, geometry.rows.in * geometry.in_row(), T(0));
    for (int64_t row = 0; row < geometry.rows.out; ++row) {
      left.assign(static_cast<size_t>(geometry.out_row()), T(1));
      const Taps taps = TapsInside(geometry.rows, row);
      for (int64_t in_row = taps.first; in_row < taps.last; ++in_row) {
        for (int64_t tap = 0; tap < geometry.columns.size; ++tap) {
          ForEachStretch(geometry.columns, tap, [&](int64_t in, int64_t out, int64_t cells) {
            const int64_t from = in_row * geometry.in_row() + in * channels;
            const int64_t to = row * geometry.out_row() + out * channels;
            loops.max_grad(cells * channels, x + from, y + to, dy + to, left.data() + out * channels,
                           dx + from);
          });
        }
      }
    }
  }
};

// The mean of the cells of a window that lie inside the image.
int64_t CellsInside(const PoolGeometry& geometry, const Taps& rows, int64_t column) {
  const Taps taps = TapsInside(geometry.columns, column);
  return (rows.last - rows.first) * (taps.last - taps.first);
}

class AvgPoolKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const PoolGeometry geometry = Geometry(x.shape);
    context.SetOutputShape(0, geometry.OutputShape());
    if (context.output().NumElements() == 0) return;
    DispatchReal("AvgPool", x.dtype, [&]<typename T>(T) {
      ForEachRow(context.team(), geometry, [&](int64_t image, int64_t row) {
        PoolRow(geometry, row, x.as<T>() + image * geometry.rows.in * geometry.in_row(),
                context.output().as<T>() + (image * geometry.rows.out + row) * geometry.out_row());
      });
    });
  }

 private:
  template <typename T>
  static void PoolRow(const PoolGeometry& geometry, int64_t row, const T* image, T* y) {
    const PoolLoops<T>& loops = HostLoops().pool<T>();
    const int64_t channels = geometry.channels;
    std::fill_n(y, geometry.out_row(), T(0));
    const Taps taps = TapsInside(geometry.rows, row);
    for (int64_t in_row = taps.first; in_row < taps.last; ++in_row) {
      const T* x = image + in_row * geometry.in_row();
      for (int64_t tap = 0; tap < geometry.columns.size; ++tap) {
        ForEachStretch(geometry.columns, tap, [&](int64_t in, int64_t out, int64_t cells) {
          loops.add(cells * channels, x + in * channels, y + out * channels);
        });
      }
    }
    for (int64_t column = 0; column < geometry.columns.out; ++column) {
      loops.scale(channels, T(1) / static_cast<T>(CellsInside(geometry, taps, column)),
                  y + column * channels);
    }
  }
};

// Inputs: the shape of x (int32), dy.
class AvgPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;

  void Compute(KernelContext& context) override {
    const Shape images = ReadShape(context.input(0));
    const TensorRef& dy = context.input(1);
    const PoolGeometry geometry = Geometry(images);
    CheckGradient(geometry, dy.shape);
    context.SetOutputShape(0, images);
    if (images.NumElements() == 0) return;
    const int64_t in_image = geometry.rows.in * geometry.in_row();
    const int64_t out_image = geometry.rows.out * geometry.out_row();
    DispatchReal("AvgPoolGrad", dy.dtype, [&]<typename T>(T) {
      const int64_t grain = std::max<int64_t>(1, kElementGrain / in_image);
      context.team().ParallelFor(geometry.batch, grain, [&](int64_t begin, int64_t end) {
        for (int64_t image = begin; image < end; ++image) {
          GradImage(geometry, dy.as<T>() + image * out_image, context.output().as<T>() + image * in_image);
        }
      });
    });
  }

 private:
  template <typename T>
  static void GradImage(const PoolGeometry& geometry, const T* dy, T* dx) {
    const PoolLoops<T>& loops = HostLoops().pool<T>();
    const int64_t channels = geometry.channels;
    std::fill_n(dx, geometry.rows.in * geometry.in_row(), T(0));
    for (int64_t row = 0; row < geometry.rows.out; ++row) {
      const Taps rows = TapsInside(geometry.rows, row);
      for (int64_t column = 0; column < geometry.columns.out; ++column) {
        const T share = T(1) / static_cast<T>(CellsInside(geometry, rows, column));
        const Taps columns = TapsInside(geometry.columns, column);
        const T* from = dy + row * geometry.out_row() + column * channels;
        for (int64_t r = rows.first; r < rows.last; ++r) {
          for (int64_t c = columns.first; c < columns.last; ++c) {
            loops.add_scaled(channels, share, from, dx + r * geometry.in_row() + c * channels);
          }
        }
      }
    }
  }
};

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry) {
  registry.Register("MaxPool", MakeKernel<MaxPoolKernel>);
  registry.Register("MaxPoolGrad", MakeKernel<MaxPoolGradKernel>);
  registry.Register("AvgPool", MakeKernel<AvgPoolKernel>);
  registry.Register("AvgPoolGrad", MakeKernel<AvgPoolGradKernel>);
}

}  // namespace lanescope::exec
