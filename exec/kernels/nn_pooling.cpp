// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/nn.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

// Cells or windows [first, last) of one dimension.
struct TapRange {
  int64_t first, last;
  int64_t size() const { return std::max<int64_t>(0, last - first); }
};

// The cells of window `out` that lie inside the image.
TapRange CellsOf(const WindowDim& dim, int64_t out) {
  const int64_t start = out * dim.stride - dim.before;
  return {std::max<int64_t>(0, start), std::min(dim.in, start + dim.size)};
}

// The windows that cell `in` lies in.
TapRange WindowsOver(const WindowDim& dim, int64_t in) {
  const int64_t behind = in + dim.before - dim.size;  // the last cell whose window does not reach this far
  return {behind < 0 ? 0 : behind / dim.stride + 1, std::min(dim.out, (in + dim.before) / dim.stride + 1)};
}

// `count` neighbours from `first` on, whose taps are those of the first one, each a step further.
struct Stretch {
  int64_t first, count;
  TapRange taps;  // of the first
};

// The stretches of [0, n), where taps(i) are those of i and alike(i) says that i is one step beyond i - 1.
template <typename TapsOf, typename Alike>
std::vector<Stretch> StretchesOf(int64_t n, const TapsOf& taps, const Alike& alike) {
  std::vector<Stretch> stretches;
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0 && alike(i)) {
      ++stretches.back().count;
    } else {
      stretches.push_back({i, 1, taps(i)});
    }
  }
  return stretches;
}

// Windows of a row, by the cells they see.
std::vector<Stretch> WindowStretches(const WindowDim& dim) {
  return StretchesOf(
      dim.out, [&](int64_t out) { return CellsOf(dim, out); },
      [&](int64_t out) {
        const TapRange before = CellsOf(dim, out - 1), cells = CellsOf(dim, out);
        return cells.first == before.first + 1 && cells.last == before.last + 1;
      });
}

// Cells of a row, by the windows that see them; those of neighbours have as many cells.
std::vector<Stretch> CellStretches(const WindowDim& dim) {
  return StretchesOf(
      dim.in, [&](int64_t in) { return WindowsOver(dim, in); },
      [&](int64_t in) {
        const TapRange before = WindowsOver(dim, in - 1), windows = WindowsOver(dim, in);
        if (windows.first != before.first + 1 || windows.last != before.last + 1) return false;
        for (int64_t out = windows.first; out < windows.last; ++out) {
          if (CellsOf(dim, out).size() != CellsOf(dim, out - 1).size()) return false;
        }
        return true;
      });
}

// Calls fn(image, row) for rows [0, rows) of every image, split over the team.
template <typename Fn>
void ForEachRow(WorkerTeam& team, int64_t images, int64_t rows, int64_t row_elements, const Fn& fn) {
  const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, row_elements));
  team.ParallelFor(images * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) fn(row / rows, row % rows);
  });
}

// Every window of the images by one of the loops over its cells.
template <typename T, typename Loop>
void PoolWindows(KernelContext& context, const ImageWindows& windows, const Loop& loop) {
  const int64_t channels = windows.channels;
  const std::vector<Stretch> stretches = WindowStretches(windows.columns);
  ForEachRow(context.team(), windows.batch, windows.rows.out, windows.out_row(),
             [&](int64_t image, int64_t row) {
               thread_local std::vector<int64_t> taps;
               const T* x = context.input(0).as<T>() + image * windows.rows.in * windows.in_row();
               T* y = context.output().as<T>() + (image * windows.rows.out + row) * windows.out_row();
               const TapRange rows = CellsOf(windows.rows, row);
               for (const Stretch& stretch : stretches) {
                 taps.clear();
                 for (int64_t r = rows.first; r < rows.last; ++r) {
                   for (int64_t c = stretch.taps.first; c < stretch.taps.last; ++c)
                     taps.push_back((r * windows.columns.in + c) * channels);
                 }
                 loop(stretch.count * channels, static_cast<int64_t>(taps.size()), taps.data(), x,
                      y + stretch.first * channels);
               }
             });
}

// The gradient of each window goes to its first maximum. Rows are cleared right before they are first added
// to, while they stay in cache.
template <typename T>
void MaxGradImage(const ImageWindows& geometry, const T* x, const T* y, const T* dy, T* dx) {
  const PoolLoops<T>& loops = HostLoops().pool<T>();
  const int64_t channels = geometry.channels;
  thread_local std::vector<int64_t> taps;  // of one window
  int64_t cleared = 0;
  const auto clear_to = [&](int64_t row) {
    if (row <= cleared) return;
    std::fill_n(dx + cleared * geometry.in_row(), (row - cleared) * geometry.in_row(), T(0));
    cleared = row;
  };
  for (int64_t row = 0; row < geometry.rows.out; ++row) {
    const TapRange rows = CellsOf(geometry.rows, row);
    clear_to(rows.last);
    for (int64_t column = 0; column < geometry.columns.out; ++column) {
      const TapRange columns = CellsOf(geometry.columns, column);
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
  clear_to(geometry.rows.in);
}

// A cell's gradient: of every window that it lies in, the share that each of its cells inside the image has.
template <typename T>
void SpreadMeans(KernelContext& context, const ImageWindows& windows) {
  const int64_t channels = windows.channels;
  const std::vector<Stretch> stretches = CellStretches(windows.columns);
  ForEachRow(
      context.team(), windows.batch, windows.rows.in, windows.in_row(), [&](int64_t image, int64_t row) {
        thread_local std::vector<int64_t> taps;
        thread_local std::vector<T> shares;
        const T* dy = context.input(1).as<T>() + image * windows.rows.out * windows.out_row();
        T* dx = context.output().as<T>() + (image * windows.rows.in + row) * windows.in_row();
        const TapRange rows = WindowsOver(windows.rows, row);
        for (const Stretch& stretch : stretches) {
          taps.clear();
          shares.clear();
          for (int64_t r = rows.first; r < rows.last; ++r) {
            for (int64_t c = stretch.taps.first; c < stretch.taps.last; ++c) {
              taps.push_back((r * windows.columns.out + c) * channels);
              shares.push_back(T(1) / static_cast<T>(CellsOf(windows.rows, r).size() *
                                                     CellsOf(windows.columns, c).size()));
            }
          }
          HostLoops().pool<T>().weighted_sum(stretch.count * channels, static_cast<int64_t>(taps.size()),
                                             taps.data(), shares.data(), dy, dx + stretch.first * channels);
        }
      });
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

}  // namespace

void HostLayers::MaxPool(KernelContext& context, const ImageWindows& windows) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("MaxPool", context.input(0).dtype,
               [&]<typename T>(T) { PoolWindows<T>(context, windows, HostLoops().pool<T>().max); });
}

void HostLayers::AvgPool(KernelContext& context, const ImageWindows& windows) {
  if (context.output().NumElements() == 0) return;
  DispatchReal("AvgPool", context.input(0).dtype,
               [&]<typename T>(T) { PoolWindows<T>(context, windows, HostLoops().pool<T>().mean); });
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
  DispatchReal("AvgPoolGrad", context.input(1).dtype,
               [&]<typename T>(T) { SpreadMeans<T>(context, windows); });
}

}  // namespace lanescope::exec
