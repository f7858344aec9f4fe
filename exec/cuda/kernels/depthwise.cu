// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/depthwise.h"
#include "exec/cuda/kernels/element_wise.cuh"

namespace lanescope::exec::cuda {
namespace {

// Pixel `index` of images or results with so many rows and columns, and its channel.
struct Pixel {
  int64_t image, row, column, channel;

  __device__ Pixel(int64_t index, int64_t rows, int64_t columns, int64_t channels) {
    channel = index % channels;
    index /= channels;
    column = index % columns;
    index /= columns;
    row = index % rows;
    image = index / rows;
  }
};

__device__ int64_t At(int64_t image, int64_t rows, int64_t row, int64_t columns, int64_t column,
                      int64_t channels, int64_t channel) {
  return ((image * rows + row) * columns + column) * channels + channel;
}

// A thread a result.
template <typename T>
__global__ void DepthwiseKernel(DepthwiseSpec spec, int64_t results, const T* x, const T* f, T* y) {
  const int64_t filters = spec.filters();
  for (int64_t i = ThreadIndex(); i < results; i += ThreadCount()) {
    const Pixel out(i, spec.rows.out, spec.columns.out, filters);
    const int64_t channel = out.channel / spec.multiplier;
    T sum = T(0);
    for (int64_t r = 0; r < spec.rows.size; ++r) {
      const int64_t row = spec.rows.Cell(out.row, r);
      if (row < 0) continue;
      for (int64_t c = 0; c < spec.columns.size; ++c) {
        const int64_t column = spec.columns.Cell(out.column, c);
        if (column < 0) continue;
        sum += x[At(out.image, spec.rows.in, row, spec.columns.in, column, spec.channels, channel)] *
               f[(r * spec.columns.size + c) * filters + out.channel];
      }
    }
    y[i] = sum;
  }
}

// A thread an element of the images: over the results that have seen it.
template <typename T>
__global__ void DepthwiseInputGradKernel(DepthwiseSpec spec, WindowAxis rows, WindowAxis columns,
                                         int64_t elements, const T* f, const T* dy, T* dx) {
  const int64_t filters = spec.filters();
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    const Pixel in(i, spec.rows.in, spec.columns.in, spec.channels);
    T sum = T(0);
    for (int64_t r = 0; r < spec.rows.size; ++r) {
      const int64_t row = rows.Cell(in.row, spec.rows.size - 1 - r);
      if (row < 0) continue;
      for (int64_t c = 0; c < spec.columns.size; ++c) {
        const int64_t column = columns.Cell(in.column, spec.columns.size - 1 - c);
        if (column < 0) continue;
        for (int64_t m = 0; m < spec.multiplier; ++m) {
          const int64_t filter = in.channel * spec.multiplier + m;
          sum += dy[At(in.image, spec.rows.out, row, spec.columns.out, column, filters, filter)] *
                 f[(r * spec.columns.size + c) * filters + filter];
        }
      }
    }
    dx[i] = sum;
  }
}

// A block a tap of a filter: its threads share the windows.
template <typename T>
__global__ void DepthwiseFilterGradKernel(DepthwiseSpec spec, int64_t taps, const T* x, const T* dy, T* df) {
  __shared__ T sums[kThreads];
  const int64_t filters = spec.filters();
  const int64_t positions = spec.batch * spec.rows.out * spec.columns.out;
  for (int64_t tap = blockIdx.x; tap < taps; tap += gridDim.x) {
    const int64_t filter = tap % filters, channel = filter / spec.multiplier;
    const int64_t c = tap / filters % spec.columns.size, r = tap / filters / spec.columns.size;
    T sum = T(0);
    for (int64_t position = threadIdx.x; position < positions; position += blockDim.x) {
      const Pixel out(position, spec.rows.out, spec.columns.out, 1);
      const int64_t row = spec.rows.Cell(out.row, r), column = spec.columns.Cell(out.column, c);
      if (row < 0 || column < 0) continue;
      sum += x[At(out.image, spec.rows.in, row, spec.columns.in, column, spec.channels, channel)] *
             dy[position * filters + filter];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) df[tap] = sums[0];
    __syncthreads();
  }
}

}  // namespace

template <typename T>
void RunDepthwise(Launch& launch, const DepthwiseSpec& spec, const T* x, const T* f, T* y) {
  const int64_t results = spec.batch * spec.rows.out * spec.columns.out * spec.filters();
  if (results == 0) return;
  DepthwiseKernel<T><<<BlocksFor(results), kThreads, 0, launch.stream()>>>(spec, results, x, f, y);
  CheckLaunch("a depthwise convolution");
}

template <typename T>
void RunDepthwiseInputGrad(Launch& launch, const DepthwiseSpec& spec, const T* f, const T* dy, T* dx) {
  const int64_t elements = spec.batch * spec.rows.in * spec.columns.in * spec.channels;
  if (elements == 0) return;
  DepthwiseInputGradKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
      spec, spec.rows.Turned(), spec.columns.Turned(), elements, f, dy, dx);
  CheckLaunch("a depthwise convolution's gradient by its images");
}

template <typename T>
void RunDepthwiseFilterGrad(Launch& launch, const DepthwiseSpec& spec, const T* x, const T* dy, T* df) {
  const int64_t taps = spec.rows.size * spec.columns.size * spec.filters();
  if (taps == 0) return;
  const unsigned blocks = BlocksFor(taps * kThreads);
  DepthwiseFilterGradKernel<T><<<blocks, kThreads, 0, launch.stream()>>>(spec, taps, x, dy, df);
  CheckLaunch("a depthwise convolution's gradient by its filter");
}

template void RunDepthwise<float>(Launch&, const DepthwiseSpec&, const float*, const float*, float*);
template void RunDepthwise<double>(Launch&, const DepthwiseSpec&, const double*, const double*, double*);
template void RunDepthwiseInputGrad<float>(Launch&, const DepthwiseSpec&, const float*, const float*, float*);
template void RunDepthwiseInputGrad<double>(Launch&, const DepthwiseSpec&, const double*, const double*,
                                            double*);
template void RunDepthwiseFilterGrad<float>(Launch&, const DepthwiseSpec&, const float*, const float*,
                                            float*);
template void RunDepthwiseFilterGrad<double>(Launch&, const DepthwiseSpec&, const double*, const double*,
                                             double*);

}  // namespace lanescope::exec::cuda
