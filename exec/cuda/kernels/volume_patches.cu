// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/cuda/kernels/convolution.h"
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/linear.h"
#include "exec/cuda/kernels/scratch_layout.h"
#include "exec/cuda/kernels/volume.h"

namespace lanescope::exec::cuda {
namespace {

// Element `first` + i of the matrix with a row for every position and a column for every tap and channel.
template <typename T>
__global__ void VolumePatchKernel(VolumeSpec spec, int64_t first, int64_t elements, const T* volumes,
                                  T* patches) {
  const int64_t patch = spec.patch();
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    int64_t position = (first + i) / patch, tap = (first + i) % patch;
    const int64_t channel = tap % spec.channels;
    tap /= spec.channels;
    const int64_t w = spec.width.Cell(position % spec.width.out, tap % spec.width.size);
    position /= spec.width.out;
    tap /= spec.width.size;
    const int64_t h = spec.height.Cell(position % spec.height.out, tap % spec.height.size);
    position /= spec.height.out;
    const int64_t d = spec.depth.Cell(position % spec.depth.out, tap / spec.height.size);
    position /= spec.depth.out;
    const int64_t cell = ((position * spec.depth.in + d) * spec.height.in + h) * spec.width.in + w;
    patches[i] = d < 0 || h < 0 || w < 0 ? T(0) : volumes[cell * spec.channels + channel];
  }
}

// turned[tap][f][c] = filter[taps - 1 - tap][c][f]
template <typename T>
__global__ void TurnVolumeFilterKernel(int64_t elements, int64_t taps, int64_t channels, int64_t filters,
                                       const T* filter, T* turned) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    const int64_t c = i % channels, f = i / channels % filters, tap = i / channels / filters;
    turned[i] = filter[((taps - 1 - tap) * channels + c) * filters + f];
  }
}

int64_t BlockPositions(const VolumeSpec& spec, int64_t element_bytes) {
  const int64_t most = kConvolutionScratch / (spec.patch() * element_bytes);
  return std::clamp<int64_t>(most, 1, spec.positions());
}

template <typename T>
int64_t PatchBytes(const VolumeSpec& spec) {
  return BlockPositions(spec, sizeof(T)) * spec.patch() * static_cast<int64_t>(sizeof(T));
}

// Calls multiply(first position, positions) for blocks of positions whose patches are laid out.
template <typename T, typename Multiply>
void ForEachBlock(Launch& launch, const VolumeSpec& spec, const T* volumes, T* patches,
                  const Multiply& multiply) {
  const int64_t block = BlockPositions(spec, sizeof(T));
  for (int64_t first = 0; first < spec.positions(); first += block) {
    const int64_t count = std::min(block, spec.positions() - first);
    const int64_t elements = count * spec.patch();
    VolumePatchKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(spec, first * spec.patch(),
                                                                                elements, volumes, patches);
    CheckLaunch("the patches of volumes");
    multiply(first, count);
  }
}

template <typename T>
void Clear(Launch& launch, int64_t elements, T* to) {
  if (elements == 0) return;
  Check(cudaMemsetAsync(to, 0, static_cast<size_t>(elements) * sizeof(T), launch.stream()),
        "clearing memory");
}

template <typename T>
void Convolve(Launch& launch, const VolumeSpec& spec, const T* volumes, const T* filter, T* patches, T* y) {
  const MatrixBatch<T> left{patches, spec.patch(), 0, false}, right{filter, spec.filters, 0, false};
  ForEachBlock(launch, spec, volumes, patches, [&](int64_t first, int64_t count) {
    RunProduct<T>(launch, 1, count, spec.filters, spec.patch(), left, right, y + first * spec.filters, false);
  });
}

}  // namespace

template <typename T>
void RunConvolveVolumes(Launch& launch, const VolumeSpec& spec, const T* x, const T* filter, T* y) {
  const int64_t results = spec.positions() * spec.filters;
  if (results == 0) return;
  if (spec.patch() == 0) return Clear(launch, results, y);
  Convolve(launch, spec, x, filter, static_cast<T*>(launch.Scratch(PatchBytes<T>(spec))), y);
}

template <typename T>
void RunConvolveVolumesInputGrad(Launch& launch, const VolumeSpec& spec, const T* filter, const T* dy,
                                 T* dx) {
  const VolumeSpec turned{spec.batch,          spec.filters,         spec.channels,
                          spec.depth.Turned(), spec.height.Turned(), spec.width.Turned()};
  const int64_t results = turned.positions() * turned.filters, elements = spec.patch() * spec.filters;
  if (results == 0) return;
  if (spec.positions() * elements == 0) return Clear(launch, results, dx);
  ScratchLayout layout;
  const int64_t filter_at = layout.Add(elements * static_cast<int64_t>(sizeof(T)));
  const int64_t patches_at = layout.Add(PatchBytes<T>(turned));
  char* scratch = static_cast<char*>(launch.Scratch(layout.bytes()));
  T* turned_filter = reinterpret_cast<T*>(scratch + filter_at);
  TurnVolumeFilterKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
      elements, spec.patch() / spec.channels, spec.channels, spec.filters, filter, turned_filter);
  CheckLaunch("turning a filter");
  Convolve<T>(launch, turned, dy, turned_filter, reinterpret_cast<T*>(scratch + patches_at), dx);
}

template <typename T>
void RunConvolveVolumesFilterGrad(Launch& launch, const VolumeSpec& spec, const T* x, const T* dy,
                                  T* dfilter) {
  const int64_t elements = spec.patch() * spec.filters;
  if (elements == 0) return;
  if (spec.positions() == 0) return Clear(launch, elements, dfilter);
  T* patches = static_cast<T*>(launch.Scratch(PatchBytes<T>(spec)));
  const MatrixBatch<T> left{patches, spec.patch(), 0, true};
  ForEachBlock(launch, spec, x, patches, [&](int64_t first, int64_t count) {
    const MatrixBatch<T> right{dy + first * spec.filters, spec.filters, 0, false};
    RunProduct<T>(launch, 1, spec.patch(), spec.filters, count, left, right, dfilter, first > 0);
  });
}

#define LANESCOPE_VOLUMES_FOR(T)                                                                    \
  template void RunConvolveVolumes<T>(Launch&, const VolumeSpec&, const T*, const T*, T*);          \
  template void RunConvolveVolumesInputGrad<T>(Launch&, const VolumeSpec&, const T*, const T*, T*); \
  template void RunConvolveVolumesFilterGrad<T>(Launch&, const VolumeSpec&, const T*, const T*, T*);
LANESCOPE_VOLUMES_FOR(float)
LANESCOPE_VOLUMES_FOR(double)
#undef LANESCOPE_VOLUMES_FOR

}  // namespace lanescope::exec::cuda
