#include <algorithm>
#include <limits>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

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

// Calls fn(image, output row) for every output row, split over the team.
template <typename Fn>
void ForEachRow(WorkerTeam& team, const ImageWindows& geometry, const Fn& fn) {
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, geometry.out_row()));
  team.ParallelFor(geometry.batch * geometry.rows.out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) fn(row / geometry.rows.out, row % geometry.rows.out);
  });
}

template <typename T>
void MaxPoolRow(const ImageWindows& geometry, int64_t row, const T* image, T* y) {
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

// The gradient of each window goes to its first maximum.
template <typename T>
void MaxGradImage(const ImageWindows& geometry, const T* x, const T* y, const T* dy, T* dx) {
  const PoolLoops<T>& loops = HostLoops().pool<T>();
  const int64_t channels = geometry.channels;
  thread_local std::vector<int64_t> taps;  // of one window
  std::fill_n(dx, geometry.rows.in * geometry.in_row(), T(0));
  for (int64_t row = 0; row < geometry.rows.out; ++row) {
    const Taps rows = TapsInside(geometry.rows, row);
    for (int64_t column = 0; column < geometry.columns.out; ++column) {
      const Taps columns = TapsInside(geometry.columns, column);
      taps.clear();
      for (int64_t r = rows.first; r < rows.last; ++r) {
        for (int64_t c = columns.first; c < columns.last; ++c) {
          taps.push_back((r * geometry.columns.in + c) * channels);
        }
      }
      const int64_t at = row * geometry.out_row() + column * channels;
      loops.max_grad(channels, static_cast<int64_t>(taps.size()), taps.data(), x, y + at, dy + at, dx);
    }
  }
}

// Means are of the cells of a window that lie inside the image.
int64_t CellsInside(const ImageWindows& geometry, const Taps& rows, int64_t column) {
  const Taps taps = TapsInside(geometry.columns, column);
  return (rows.last - rows.first) * (taps.last - taps.first);
}

template <typename T>
void AvgPoolRow(const ImageWindows& geometry, int64_t row, const T* image, T* y) {
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
    loops.scale(channels, T(1) / static_cast<T>(CellsInside(geometry, taps, column)), y + column * channels);
  }
}

template <typename T>
void AvgGradImage(const ImageWindows& geometry, const T* dy, T* dx) {
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

// Calls run(first element of an image, of its results) for every image, split over the team.
template <typename Run>
void ForEachImage(WorkerTeam& team, const ImageWindows& windows, const Run& run) {
  const int64_t in_image = windows.rows.in * windows.in_row();
  const int64_t out_image = windows.rows.out * windows.out_row();
  const int64_t grain = std::max<int64_t>(1, kElementGrain / in_image);
  team.ParallelFor(windows.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) run(image * in_image, image * out_image);
  });
}

// Calls pool(row of an image, the image, where its results go) for every row of results.
template <typename T, typename Pool>
void PoolRows(KernelContext& context, const ImageWindows& windows, const Pool& pool) {
  const TensorRef& x = context.input(0);
  ForEachRow(context.team(), windows, [&](int64_t image, int64_t row) {
    pool(row, x.as<T>() + image * windows.rows.in * windows.in_row(),
         context.output().as<T>() + (image * windows.rows.out + row) * windows.out_row());
  });
}

}  // namespace

void HostLayers::MaxPool(KernelContext& context, const ImageWindows& windows) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("MaxPool", context.input(0).dtype, [&]<typename T>(T) {
    PoolRows<T>(context, windows,
                [&](int64_t row, const T* image, T* y) { MaxPoolRow(windows, row, image, y); });
  });
}

void HostLayers::AvgPool(KernelContext& context, const ImageWindows& windows) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("AvgPool", context.input(0).dtype, [&]<typename T>(T) {
    PoolRows<T>(context, windows,
                [&](int64_t row, const T* image, T* y) { AvgPoolRow(windows, row, image, y); });
  });
}

void HostLayers::MaxPoolGrad(KernelContext& context, const ImageWindows& windows) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("MaxPoolGrad", context.input(0).dtype, [&]<typename T>(T) {
    ForEachImage(context.team(), windows, [&](int64_t in, int64_t out) {
      MaxGradImage(windows, context.input(0).as<T>() + in, context.input(1).as<T>() + out,
                   context.input(2).as<T>() + out, context.output().as<T>() + in);
    });
  });
}

void HostLayers::AvgPoolGrad(KernelContext& context, const ImageWindows& windows) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("AvgPoolGrad", context.input(1).dtype, [&]<typename T>(T) {
    ForEachImage(context.team(), windows, [&](int64_t in, int64_t out) {
      AvgGradImage(windows, context.input(1).as<T>() + out, context.output().as<T>() + in);
    });
  });
}

}  // namespace lanescope::exec
