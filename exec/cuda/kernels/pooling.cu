// SPDX-License-Identifier: Apache-2.0
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

// Every cell collects from the windows that see it, in order.
template <typename T, typename Share>
__global__ void CollectKernel(PoolMap map, int64_t inputs, Share share, T* dx) {
  for (int64_t input = ThreadIndex(); input < inputs; input += ThreadCount()) {
    const PoolMap::Place place = map.InputPlace(input);
    const CellRange rows = map.rows.WindowsOf(place.row);
    const CellRange columns = map.columns.WindowsOf(place.column);
    T total = T(0);
    for (int64_t row = rows.first; row < rows.last; ++row) {
      for (int64_t column = columns.first; column < columns.last; ++column) {
        const int64_t output = map.OutputOffset(place.image, row, column, place.channel);
        total += share(map, input, output, row, column);
      }
    }
    dx[input] = total;
  }
}

template <typename T>
struct MaxShare {
  const int64_t* chosen;
  const T* dy;
  __device__ T operator()(const PoolMap&, int64_t input, int64_t output, int64_t, int64_t) const {
    return chosen[output] == input ? dy[output] : T(0);
  }
};

template <typename T>
struct MeanShare {
  const T* dy;
  __device__ T operator()(const PoolMap& map, int64_t, int64_t output, int64_t row, int64_t column) const {
    const CellRange rows = map.rows.CellsOf(row);
    const CellRange columns = map.columns.CellsOf(column);
    const int64_t cells = (rows.last - rows.first) * (columns.last - columns.first);
    return dy[output] * (T(1) / static_cast<T>(cells));
  }
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

template <typename T, typename Share>
void Collect(Launch& launch, const PoolMap& map, Share share, T* dx) {
  const int64_t inputs = map.inputs();
  if (inputs == 0) return;
  CollectKernel<T, Share><<<BlocksFor(inputs), kThreads, 0, launch.stream()>>>(map, inputs, share, dx);
  CheckLaunch("a pooling gradient");
}

}  // namespace

template <typename T>
void RunMaxPool(Launch& launch, const PoolMap& map, const T* x, T* y) {
  Pool<MaxTotal<T>>(launch, map, x, y);
}

template <typename T>
void RunMaxPoolGrad(Launch& launch, const PoolMap& map, const T* x, const T* y, const T* dy, T* dx) {
  Collect(launch, map, MaxShare<T>{Choose(launch, map, x, y), dy}, dx);
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
  Collect(launch, map, MeanShare<T>{dy}, dx);
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
