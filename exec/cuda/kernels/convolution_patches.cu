// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/cuda/kernels/convolution_patches.h"
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/linear.h"
#include "exec/cuda/kernels/scratch_layout.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
__global__ void PatchKernel(PatchMap map, int64_t first, int64_t elements, const T* images, T* patches) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    const int64_t source = map.Source(first + i);
    patches[i] = source < 0 ? T{} : images[source];
  }
}

// turned[tap][f][c] = filter[taps - 1 - tap][c][f]
template <typename T>
__global__ void TurnFilterKernel(int64_t elements, int64_t taps, Divider channels, Divider filters,
                                 const T* filter, T* turned) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    int64_t tap = i;
    const int64_t c = channels.Split(tap);
    const int64_t f = filters.Split(tap);
    turned[i] = filter[((taps - 1 - tap) * channels.divisor() + c) * filters.divisor() + f];
  }
}

// The matrix of patches is the images themselves.
bool InPlace(const ConvSpec& spec) {
  const auto plain = [](const WindowAxis& axis) {
    return axis.size == 1 && axis.stride == 1 && axis.before == 0 && axis.spread == 1 && axis.in == axis.out;
  };
  return plain(spec.rows) && plain(spec.columns);
}

int64_t BlockPositions(const ConvSpec& spec, int64_t element_bytes) {
  const int64_t most = kConvolutionScratch / (spec.patch() * element_bytes);
  return std::clamp<int64_t>(most, 1, spec.positions());
}

template <typename T>
int64_t PatchBytes(const ConvSpec& spec) {
  if (InPlace(spec)) return 0;
  return BlockPositions(spec, sizeof(T)) * spec.patch() * static_cast<int64_t>(sizeof(T));
}

// Calls multiply(patches, first position, positions) for blocks of positions.
template <typename T, typename Multiply>
void ForEachBlock(Launch& launch, const ConvSpec& spec, const T* images, T* scratch, Multiply multiply) {
  if (InPlace(spec)) return multiply(images, int64_t{0}, spec.positions());
  const int64_t block = BlockPositions(spec, sizeof(T));
  const bool quads = spec.channels % 4 == 0 && AlignedForQuads(images) && AlignedForQuads(scratch);
  const int64_t width = quads ? 4 : 1;
  const PatchMap map = MakePatchMap(spec.rows, spec.columns, spec.channels, width);
  const int64_t patch = spec.patch() / width;
  for (int64_t first = 0; first < spec.positions(); first += block) {
    const int64_t count = std::min(block, spec.positions() - first);
    const int64_t elements = count * patch;
    if (quads) {
      PatchKernel<<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
          map, first * patch, elements, reinterpret_cast<const Quad<T>*>(images),
          reinterpret_cast<Quad<T>*>(scratch));
    } else {
      PatchKernel<<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(map, first * patch, elements, images,
                                                                         scratch);
    }
    CheckLaunch("the patches of a convolution");
    multiply(static_cast<const T*>(scratch), first, count);
  }
}

template <typename T>
void Convolve(Launch& launch, const ConvSpec& spec, const T* images, const T* filter, T* scratch, T* out) {
  const MatrixBatch<T> right{filter, spec.filters, 0, false};
  ForEachBlock(launch, spec, images, scratch, [&](const T* patches, int64_t first, int64_t count) {
    const MatrixBatch<T> left{patches, spec.patch(), 0, false};
    RunProduct<T>(launch, 1, count, spec.filters, spec.patch(), left, right, out + first * spec.filters,
                  false);
  });
}

}  // namespace

template <typename T>
void PatchConvolution(Launch& launch, const ConvSpec& spec, const T* images, const T* filter, T* out) {
  if (spec.positions() * spec.filters == 0) return;
  T* scratch = nullptr;
  if (spec.patch() > 0) scratch = static_cast<T*>(launch.Scratch(std::max<int64_t>(1, PatchBytes<T>(spec))));
  if (spec.patch() == 0) {
    const auto bytes = static_cast<size_t>(spec.positions() * spec.filters) * sizeof(T);
    return Check(cudaMemsetAsync(out, 0, bytes, launch.stream()), "clearing memory");
  }
  Convolve(launch, spec, images, filter, scratch, out);
}

template <typename T>
void PatchInputGrad(Launch& launch, const ConvSpec& spec, const T* filter, const T* dy, T* dx) {
  ConvSpec turned;
  turned.batch = spec.batch;
  turned.channels = spec.filters;
  turned.filters = spec.channels;
  turned.rows = spec.rows.Turned();
  turned.columns = spec.columns.Turned();
  const int64_t elements = spec.patch() * spec.filters;
  if (turned.positions() * turned.filters == 0) return;
  if (spec.positions() * elements == 0) {
    const auto bytes = static_cast<size_t>(turned.positions() * turned.filters) * sizeof(T);
    return Check(cudaMemsetAsync(dx, 0, bytes, launch.stream()), "clearing memory");
  }
  ScratchLayout layout;
  const int64_t filter_at = layout.Add(elements * static_cast<int64_t>(sizeof(T)));
  const int64_t patches_at = layout.Add(PatchBytes<T>(turned));
  char* scratch = static_cast<char*>(launch.Scratch(layout.bytes()));
  T* turned_filter = reinterpret_cast<T*>(scratch + filter_at);
  TurnFilterKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
      elements, spec.rows.size * spec.columns.size, Divider(spec.channels), Divider(spec.filters), filter,
      turned_filter);
  CheckLaunch("turning a filter");
  Convolve<T>(launch, turned, dy, turned_filter, reinterpret_cast<T*>(scratch + patches_at), dx);
}

template <typename T>
void PatchFilterGrad(Launch& launch, const ConvSpec& spec, const T* images, const T* dy, T* dfilter) {
  const int64_t elements = spec.patch() * spec.filters;
  if (elements == 0) return;
  if (spec.positions() == 0) {
    return Check(cudaMemsetAsync(dfilter, 0, static_cast<size_t>(elements) * sizeof(T), launch.stream()),
                 "clearing memory");
  }
  T* scratch = static_cast<T*>(launch.Scratch(std::max<int64_t>(1, PatchBytes<T>(spec))));
  ForEachBlock(launch, spec, images, scratch, [&](const T* patches, int64_t first, int64_t count) {
    const MatrixBatch<T> left{patches, spec.patch(), 0, true};
    const MatrixBatch<T> right{dy + first * spec.filters, spec.filters, 0, false};
    RunProduct<T>(launch, 1, spec.patch(), spec.filters, count, left, right, dfilter, first > 0);
  });
}

#define LANESCOPE_PATCHES_FOR(T)                                                       \
  template void PatchConvolution<T>(Launch&, const ConvSpec&, const T*, const T*, T*); \
  template void PatchInputGrad<T>(Launch&, const ConvSpec&, const T*, const T*, T*);   \
  template void PatchFilterGrad<T>(Launch&, const ConvSpec&, const T*, const T*, T*);
LANESCOPE_PATCHES_FOR(float)
LANESCOPE_PATCHES_FOR(double)
#undef LANESCOPE_PATCHES_FOR

}  // namespace lanescope::exec::cuda
