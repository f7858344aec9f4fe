// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <initializer_list>
#include <limits>

#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/nn.h"

namespace lanescope::exec::cuda {
namespace {

// Windows of more cells than this are shared by a warp.
constexpr int64_t kLargeWindow = 64;
constexpr int kWarpsPerBlock = 8;

// The cells of a window in order: rows, then columns.
struct Window {
  CellRange rows;
  CellRange columns;
  int64_t image;
  int64_t channel;

  __device__ Window(const PoolMap& map, int64_t output) {
    const PoolMap::Place place = map.OutputPlace(output);
    rows = map.rows.CellsOf(place.row);
    columns = map.columns.CellsOf(place.column);
    image = place.image;
    channel = place.channel;
  }
  __device__ int64_t width() const { return columns.last - columns.first; }
  __device__ int64_t cells() const { return (rows.last - rows.first) * width(); }
  __device__ int64_t Offset(const PoolMap& map, int64_t row, int64_t column) const {
    return map.InputOffset(image, row, column, channel);
  }
};

// Calls take(offset of x, number of the cell in the window) for every cells of the window that this lane has.
template <typename Take>
__device__ void ForEachCell(const PoolMap& map, const Window& window, int lane, int lanes, const Take& take) {
  if (lanes == 1) {
    int64_t number = 0;
    for (int64_t row = window.rows.first; row < window.rows.last; ++row) {
      for (int64_t column = window.columns.first; column < window.columns.last; ++column) {
        take(window.Offset(map, row, column), number++);
      }
    }
    return;
  }
  const int64_t width = window.width();
  const int64_t cells = window.cells();
  for (int64_t i = lane; i < cells; i += lanes) {
    take(window.Offset(map, window.rows.first + i / width, window.columns.first + i % width), i);
  }
}

template <typename T>
struct MaxTotal {
  T total = std::numeric_limits<T>::lowest();
  __device__ void Take(T x) { total = x > total ? x : total; }  // NaN never wins
  __device__ T Result(int64_t) const { return total; }
};

template <typename T>
struct MeanTotal {
  T total = T(0);
  __device__ void Take(T x) { total += x; }
  __device__ T Result(int64_t cells) const { return total * (T(1) / static_cast<T>(cells)); }
};

// `lanes` is 1 (a thread for each result) or 32 (a warp).
template <typename T, typename Total>
__global__ void PoolKernel(PoolMap map, int64_t outputs, int lanes, const T* x, T* y) {
  const int lane = lanes == 1 ? 0 : static_cast<int>(threadIdx.x % 32);
  for (int64_t output = ThreadIndex() / lanes; output < outputs; output += ThreadCount() / lanes) {
    const Window window(map, output);
    Total total;
    ForEachCell(map, window, lane, lanes, [&](int64_t offset, int64_t) { total.Take(x[offset]); });
    for (int half = lanes / 2; half > 0; half /= 2) {
      total.Take(__shfl_down_sync(0xFFFFFFFFu, total.total, half));
    }
    if (lane == 0) y[output] = total.Result(window.cells());
  }
}

constexpr int64_t kNoCell = std::numeric_limits<int64_t>::max();

// chosen[output] = the offset of the first element of the window that equals y; kNoCell if none does.
template <typename T>
__global__ void ChosenKernel(PoolMap map, int64_t outputs, int lanes, const T* x, const T* y,
                             int64_t* chosen) {
  const int lane = lanes == 1 ? 0 : static_cast<int>(threadIdx.x % 32);
  for (int64_t output = ThreadIndex() / lanes; output < outputs; output += ThreadCount() / lanes) {
    const Window window(map, output);
    const T most = y[output];
    // Offsets grow with the numbers of the cells, so that the smallest offset is the first cell.
    int64_t first = kNoCell;
    ForEachCell(map, window, lane, lanes, [&](int64_t offset, int64_t) {
      if (x[offset] == most && offset < first) first = offset;
    });
    for (int half = lanes / 2; half > 0; half /= 2) {
      first = min(first, __shfl_down_sync(0xFFFFFFFFu, first, half));
    }
    if (lane == 0) chosen[output] = first;
  }
}

template <typename T>
__global__ void TakeChosenKernel(int64_t outputs, const int64_t* chosen, const T* from, T* out) {
  for (int64_t output = ThreadIndex(); output < outputs; output += ThreadCount())
    out[output] = chosen[output] == kNoCell ? T(0) : from[chosen[output]];
}

// `width` channels of a cell or a result, side by side.
template <typename T, int width>
struct alignas(width * sizeof(T)) Few {
  T at[width];
};

// Every cell collects from the windows that see it, in order; a thread has `width` channels of a cell. Reads
// and writes of memory are those of the share, and dx once.
template <typename T, int width, typename Share>
__global__ void CollectKernel(PoolMap map, int64_t inputs, Share share, T* dx) {
  for (int64_t item = ThreadIndex(); item * width < inputs; item += ThreadCount()) {
    const int64_t input = item * width;
    const PoolMap::Place place = map.InputPlace(input);
    const CellRange rows = map.RowsOver(place.row);
    const CellRange columns = map.ColumnsOver(place.column);
    typename Share::Cell cell(share, map, place, input);
    Few<T, width> total = {};
    for (int64_t row = rows.first; row < rows.last; ++row) {
      for (int64_t column = columns.first; column < columns.last; ++column)
        cell.Add(map.OutputOffset(place.image, row, column, place.channel), row, column, &total);
    }
    *reinterpret_cast<Few<T, width>*>(dx + input) = total;
  }
}

template <typename T, int width>
__device__ const Few<T, width>& FewAt(const T* from) {
  return *reinterpret_cast<const Few<T, width>*>(from);
}

// A cell has what its window gives if the window's choice is this cell. An element of dx reads the choices (8
// bytes) of the windows that see it, and dy of those that chose it.
template <typename T>
struct ChosenShare {
  const int64_t* chosen;
  const T* dy;

  struct Cell {
    const ChosenShare& share;
    int64_t input;
    __device__ Cell(const ChosenShare& of, const PoolMap&, const PoolMap::Place&, int64_t at)
        : share(of), input(at) {}
    __device__ void Add(int64_t output, int64_t, int64_t, Few<T, 1>* total) const {
      if (share.chosen[output] == input) total->at[0] += share.dy[output];
    }
  };
};

// Without choices in memory: the cell is its window's if it is as large as y and none of the window
// before it is. An element of dx reads x once, y of each window that sees it (2.25 of windows of 3x3, two
// apart; neighbours share them in the cache), and only where it is as large the cells before it and dy.
template <typename T, int width>
struct LargestShare {
  const T* x;
  const T* y;
  const T* dy;

  struct Cell {
    const LargestShare& share;
    const PoolMap& map;
    const PoolMap::Place& place;
    Few<T, width> own;
    __device__ Cell(const LargestShare& of, const PoolMap& windows, const PoolMap::Place& at, int64_t input)
        : share(of), map(windows), place(at), own(FewAt<T, width>(of.x + input)) {}
    __device__ void Add(int64_t output, int64_t row, int64_t column, Few<T, width>* total) const {
      const Few<T, width> most = FewAt<T, width>(share.y + output);
#pragma unroll
      for (int k = 0; k < width; ++k) {
        if (own.at[k] == most.at[k] && IsFirst(row, column, place.channel + k, most.at[k]))
          total->at[k] += share.dy[output + k];
      }
    }
    // Whether no cell of the window before this one is as large.
    __device__ bool IsFirst(int64_t window_row, int64_t window_column, int64_t channel, T most) const {
      const CellRange rows = map.rows.CellsOf(window_row), columns = map.columns.CellsOf(window_column);
      for (int64_t row = rows.first; row <= place.row; ++row) {
        const int64_t last = row < place.row ? columns.last : place.column;
        for (int64_t column = columns.first; column < last; ++column) {
          if (share.x[map.InputOffset(place.image, row, column, channel)] == most) return false;
        }
      }
      return true;
    }
  };
};

// An element of dx reads dy of the windows that see it.
template <typename T, int width>
struct MeanShare {
  const T* dy;

  struct Cell {
    const MeanShare& share;
    const PoolMap& map;
    __device__ Cell(const MeanShare& of, const PoolMap& windows, const PoolMap::Place&, int64_t)
        : share(of), map(windows) {}
    __device__ void Add(int64_t output, int64_t row, int64_t column, Few<T, width>* total) const {
      const CellRange rows = map.rows.CellsOf(row), columns = map.columns.CellsOf(column);
      const auto cells = static_cast<T>((rows.last - rows.first) * (columns.last - columns.first));
      const Few<T, width> given = FewAt<T, width>(share.dy + output);
#pragma unroll
      for (int k = 0; k < width; ++k) total->at[k] += given.at[k] * (T(1) / cells);
    }
  };
};

int LanesFor(const PoolMap& map) { return map.rows.size * map.columns.size > kLargeWindow ? 32 : 1; }

unsigned Blocks(int64_t outputs, int lanes) {
  return lanes == 1 ? BlocksFor(outputs) : BlocksFor(outputs, kWarpsPerBlock);
}

template <typename Total, typename T>
void Pool(Launch& launch, const PoolMap& map, const T* x, T* y) {
  const int64_t outputs = map.outputs();
  if (outputs == 0) return;
  const int lanes = LanesFor(map);
  PoolKernel<T, Total><<<Blocks(outputs, lanes), kThreads, 0, launch.stream()>>>(map, outputs, lanes, x, y);
  CheckLaunch("pooling");
}

// In scratch memory: see ChosenKernel. Null without outputs.
template <typename T>
const int64_t* Choose(Launch& launch, const PoolMap& map, const T* x, const T* y) {
  const int64_t outputs = map.outputs();
  if (outputs == 0) return nullptr;
  auto* chosen = static_cast<int64_t*>(launch.Scratch(outputs * static_cast<int64_t>(sizeof(int64_t))));
  const int lanes = LanesFor(map);
  ChosenKernel<T>
      <<<Blocks(outputs, lanes), kThreads, 0, launch.stream()>>>(map, outputs, lanes, x, y, chosen);
  CheckLaunch("the maxima of pooling windows");
  return chosen;
}

template <int width, typename T, typename Share>
void Collect(Launch& launch, const PoolMap& map, Share share, T* dx) {
  const int64_t inputs = map.inputs();
  if (inputs == 0) return;
  CollectKernel<T, width, Share>
      <<<BlocksFor(inputs / width), kThreads, 0, launch.stream()>>>(map, inputs, share, dx);
  CheckLaunch("a pooling gradient");
}

constexpr int kFew = 4;

// Whether kFew channels side by side can be read at once.
template <typename T>
bool HasFew(const PoolMap& map, std::initializer_list<const T*> tensors) {
  return map.channels.divisor() % kFew == 0 &&
         std::all_of(tensors.begin(), tensors.end(), [](const T* t) { return AlignedForQuads(t); });
}

}  // namespace

template <typename T>
void RunMaxPool(Launch& launch, const PoolMap& map, const T* x, T* y) {
  Pool<MaxTotal<T>>(launch, map, x, y);
}

template <typename T>
void RunMaxPoolGrad(Launch& launch, const PoolMap& map, const T* x, const T* y, const T* dy, T* dx) {
  // A cell of a large window would look at many others.
  if (LanesFor(map) > 1) {
    Collect<1>(launch, map, ChosenShare<T>{Choose(launch, map, x, y), dy}, dx);
  } else if (HasFew<T>(map, {x, y, dx})) {
    Collect<kFew>(launch, map, LargestShare<T, kFew>{x, y, dy}, dx);
  } else {
    Collect<1>(launch, map, LargestShare<T, 1>{x, y, dy}, dx);
  }
}

template <typename T>
void RunMaxPoolGradGrad(Launch& launch, const PoolMap& map, const T* x, const T* y, const T* gradient,
                        T* out) {
  const int64_t outputs = map.outputs();
  if (outputs == 0) return;
  TakeChosenKernel<T><<<BlocksFor(outputs), kThreads, 0, launch.stream()>>>(
      outputs, Choose(launch, map, x, y), gradient, out);
  CheckLaunch("the gradient of a maximum's gradient");
}

template <typename T>
void RunAvgPool(Launch& launch, const PoolMap& map, const T* x, T* y) {
  Pool<MeanTotal<T>>(launch, map, x, y);
}

template <typename T>
void RunAvgPoolGrad(Launch& launch, const PoolMap& map, const T* dy, T* dx) {
  if (HasFew<T>(map, {dy, dx})) {
    Collect<kFew>(launch, map, MeanShare<T, kFew>{dy}, dx);
  } else {
    Collect<1>(launch, map, MeanShare<T, 1>{dy}, dx);
  }
}

#define LANESCOPE_POOLING_FOR(T)                                                                  \
  template void RunMaxPool<T>(Launch&, const PoolMap&, const T*, T*);                             \
  template void RunMaxPoolGrad<T>(Launch&, const PoolMap&, const T*, const T*, const T*, T*);     \
  template void RunMaxPoolGradGrad<T>(Launch&, const PoolMap&, const T*, const T*, const T*, T*); \
  template void RunAvgPool<T>(Launch&, const PoolMap&, const T*, T*);                             \
  template void RunAvgPoolGrad<T>(Launch&, const PoolMap&, const T*, T*);
LANESCOPE_POOLING_FOR(float)
LANESCOPE_POOLING_FOR(double)
#undef LANESCOPE_POOLING_FOR

}  // namespace lanescope::exec::cuda
