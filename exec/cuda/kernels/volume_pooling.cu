// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/volume.h"

namespace lanescope::exec::cuda {
namespace {

// Where element `index` of volumes of so many cells is.
struct Place {
  int64_t volume, plane, row, column, channel;

  __device__ Place(int64_t index, int64_t rows, int64_t columns, int64_t planes, int64_t channels) {
    channel = index % channels;
    index /= channels;
    column = index % columns;
    index /= columns;
    row = index % rows;
    index /= rows;
    plane = index % planes;
    volume = index / planes;
  }
};

__device__ Place ResultPlace(const VolumeSpec& spec, int64_t index) {
  return Place(index, spec.height.out, spec.width.out, spec.depth.out, spec.channels);
}
__device__ Place CellPlace(const VolumeSpec& spec, int64_t index) {
  return Place(index, spec.height.in, spec.width.in, spec.depth.in, spec.channels);
}

// Calls visit(offset of the cell) for the cells under a window, in order, until it says no.
template <typename Visit>
__device__ void ForEachCell(const VolumeSpec& spec, const Place& at, const Visit& visit) {
  const CellRange planes = spec.depth.CellsOf(at.plane), rows = spec.height.CellsOf(at.row);
  const CellRange columns = spec.width.CellsOf(at.column);
  for (int64_t d = planes.first; d < planes.last; ++d) {
    for (int64_t h = rows.first; h < rows.last; ++h) {
      for (int64_t w = columns.first; w < columns.last; ++w) {
        const int64_t cell = ((at.volume * spec.depth.in + d) * spec.height.in + h) * spec.width.in + w;
        if (!visit(cell * spec.channels + at.channel)) return;
      }
    }
  }
}

__device__ int64_t CellsUnder(const VolumeSpec& spec, int64_t plane, int64_t row, int64_t column) {
  const CellRange planes = spec.depth.CellsOf(plane), rows = spec.height.CellsOf(row);
  const CellRange columns = spec.width.CellsOf(column);
  return (planes.last - planes.first) * (rows.last - rows.first) * (columns.last - columns.first);
}

// Calls visit(plane, row, column, offset of the result) for the windows over a cell, in order.
template <typename Visit>
__device__ void ForEachWindow(const VolumeSpec& spec, const Place& at, const Visit& visit) {
  const CellRange planes = spec.depth.WindowsOf(at.plane), rows = spec.height.WindowsOf(at.row);
  const CellRange columns = spec.width.WindowsOf(at.column);
  for (int64_t d = planes.first; d < planes.last; ++d) {
    for (int64_t h = rows.first; h < rows.last; ++h) {
      for (int64_t w = columns.first; w < columns.last; ++w) {
        const int64_t window = ((at.volume * spec.depth.out + d) * spec.height.out + h) * spec.width.out + w;
        visit(d, h, w, window * spec.channels + at.channel);
      }
    }
  }
}

template <typename T>
__global__ void MaxKernel(VolumeSpec spec, int64_t results, T lowest, const T* x, T* y) {
  for (int64_t i = ThreadIndex(); i < results; i += ThreadCount()) {
    T largest = lowest;
    ForEachCell(spec, ResultPlace(spec, i), [&](int64_t cell) {
      largest = x[cell] > largest ? x[cell] : largest;
      return true;
    });
    y[i] = largest;
  }
}

template <typename T>
__global__ void MeanKernel(VolumeSpec spec, int64_t results, const T* x, T* y) {
  for (int64_t i = ThreadIndex(); i < results; i += ThreadCount()) {
    const Place at = ResultPlace(spec, i);
    T sum = T(0);
    ForEachCell(spec, at, [&](int64_t cell) {
      sum += x[cell];
      return true;
    });
    y[i] = sum / static_cast<T>(CellsUnder(spec, at.plane, at.row, at.column));
  }
}

template <typename T>
__global__ void MaxGradKernel(VolumeSpec spec, int64_t cells, const T* x, const T* y, const T* dy, T* dx) {
  for (int64_t i = ThreadIndex(); i < cells; i += ThreadCount()) {
    const T value = x[i];
    T sum = T(0);
    ForEachWindow(spec, CellPlace(spec, i), [&](int64_t, int64_t, int64_t, int64_t result) {
      if (y[result] == value) sum += dy[result];
    });
    dx[i] = sum;
  }
}

template <typename T>
__global__ void MaxSecondKernel(VolumeSpec spec, int64_t results, const T* x, const T* y, const T* gradient,
                                T* out) {
  for (int64_t i = ThreadIndex(); i < results; i += ThreadCount()) {
    T found = T(0);
    ForEachCell(spec, ResultPlace(spec, i), [&](int64_t cell) {
      if (x[cell] != y[i]) return true;
      found = gradient[cell];
      return false;
    });
    out[i] = found;
  }
}

template <typename T>
__global__ void MeanGradKernel(VolumeSpec spec, int64_t cells, const T* dy, T* dx) {
  for (int64_t i = ThreadIndex(); i < cells; i += ThreadCount()) {
    T sum = T(0);
    ForEachWindow(spec, CellPlace(spec, i), [&](int64_t plane, int64_t row, int64_t column, int64_t result) {
      sum += dy[result] / static_cast<T>(CellsUnder(spec, plane, row, column));
    });
    dx[i] = sum;
  }
}

}  // namespace

template <typename T>
void RunMaxPoolVolumes(Launch& launch, const VolumeSpec& spec, const T* x, T* y) {
  const int64_t results = spec.positions() * spec.channels;
  if (results == 0) return;
  MaxKernel<T><<<BlocksFor(results), kThreads, 0, launch.stream()>>>(spec, results,
                                                                     std::numeric_limits<T>::lowest(), x, y);
  CheckLaunch("pooling volumes");
}

template <typename T>
void RunAvgPoolVolumes(Launch& launch, const VolumeSpec& spec, const T* x, T* y) {
  const int64_t results = spec.positions() * spec.channels;
  if (results == 0) return;
  MeanKernel<T><<<BlocksFor(results), kThreads, 0, launch.stream()>>>(spec, results, x, y);
  CheckLaunch("pooling volumes");
}

template <typename T>
void RunMaxPoolVolumesGrad(Launch& launch, const VolumeSpec& spec, const T* x, const T* y, const T* dy,
                           T* dx) {
  const int64_t cells = spec.batch * spec.in_cells() * spec.channels;
  if (cells == 0) return;
  MaxGradKernel<T><<<BlocksFor(cells), kThreads, 0, launch.stream()>>>(spec, cells, x, y, dy, dx);
  CheckLaunch("the gradient of pooling volumes");
}

template <typename T>
void RunMaxPoolVolumesSecond(Launch& launch, const VolumeSpec& spec, const T* x, const T* y,
                             const T* gradient, T* out) {
  const int64_t results = spec.positions() * spec.channels;
  if (results == 0) return;
  MaxSecondKernel<T>
      <<<BlocksFor(results), kThreads, 0, launch.stream()>>>(spec, results, x, y, gradient, out);
  CheckLaunch("the gradient of pooling's gradient");
}

template <typename T>
void RunAvgPoolVolumesGrad(Launch& launch, const VolumeSpec& spec, const T* dy, T* dx) {
  const int64_t cells = spec.batch * spec.in_cells() * spec.channels;
  if (cells == 0) return;
  MeanGradKernel<T><<<BlocksFor(cells), kThreads, 0, launch.stream()>>>(spec, cells, dy, dx);
  CheckLaunch("the gradient of pooling volumes");
}

#define LANESCOPE_POOLS_FOR(T)                                                                            \
  template void RunMaxPoolVolumes<T>(Launch&, const VolumeSpec&, const T*, T*);                           \
  template void RunAvgPoolVolumes<T>(Launch&, const VolumeSpec&, const T*, T*);                           \
  template void RunMaxPoolVolumesGrad<T>(Launch&, const VolumeSpec&, const T*, const T*, const T*, T*);   \
  template void RunMaxPoolVolumesSecond<T>(Launch&, const VolumeSpec&, const T*, const T*, const T*, T*); \
  template void RunAvgPoolVolumesGrad<T>(Launch&, const VolumeSpec&, const T*, T*);
LANESCOPE_POOLS_FOR(float)
LANESCOPE_POOLS_FOR(double)
#undef LANESCOPE_POOLS_FOR

}  // namespace lanescope::exec::cuda
