// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/images.h"

namespace lanescope::exec::cuda {
namespace {

// Where element `index` of images with so many rows and columns is.
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

__device__ int64_t InImages(const ResizeSpec& spec, const Pixel& at, int64_t row, int64_t column) {
  return ((at.image * spec.down.of_image + row) * spec.across.of_image + column) * spec.channels + at.channel;
}
__device__ int64_t InResized(const ResizeSpec& spec, const Pixel& at, int64_t row, int64_t column) {
  return ((at.image * spec.down.of_resized + row) * spec.across.of_resized + column) * spec.channels +
         at.channel;
}
__device__ Pixel ResizedPixel(const ResizeSpec& spec, int64_t index) {
  return Pixel(index, spec.down.of_resized, spec.across.of_resized, spec.channels);
}
__device__ Pixel ImagePixel(const ResizeSpec& spec, int64_t index) {
  return Pixel(index, spec.down.of_image, spec.across.of_image, spec.channels);
}

int64_t ImageElements(const ResizeSpec& spec) {
  return spec.batch * spec.down.of_image * spec.across.of_image * spec.channels;
}
int64_t ResizedElements(const ResizeSpec& spec) {
  return spec.batch * spec.down.of_resized * spec.across.of_resized * spec.channels;
}

template <typename T>
__global__ void BilinearKernel(ResizeSpec spec, int64_t elements, const T* images, float* resized) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    const Pixel at = ResizedPixel(spec, i);
    const ResizedLine row = spec.down.At(at.row), column = spec.across.At(at.column);
    const auto mix = [&](int64_t line) {
      const float left = static_cast<float>(images[InImages(spec, at, line, column.lower)]);
      const float right = static_cast<float>(images[InImages(spec, at, line, column.upper)]);
      return left + (right - left) * column.share;
    };
    const float above = mix(row.lower);
    resized[i] = above + (mix(row.upper) - above) * row.share;
  }
}

// The weight of a line in a pixel: as its lower neighbour, as its upper one, or as both.
__device__ float PartOf(const ResizedLine& line, int64_t pixel) {
  return (line.lower == pixel ? 1 - line.share : 0.0f) + (line.upper == pixel ? line.share : 0.0f);
}

// A thread a pixel of the image: over the resized pixels that it has a part in.
template <typename T>
__global__ void BilinearGradKernel(ResizeSpec spec, int64_t elements, const float* grads, T* out) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    const Pixel at = ImagePixel(spec, i);
    const int64_t end_row = spec.down.EndOf(at.row), end_column = spec.across.EndOf(at.column);
    const int64_t first_column = spec.across.FirstOf(at.column);
    T sum = T(0);
    for (int64_t r = spec.down.FirstOf(at.row); r < end_row; ++r) {
      const float of_row = PartOf(spec.down.At(r), at.row);
      for (int64_t c = first_column; c < end_column; ++c) {
        const float part = of_row * PartOf(spec.across.At(c), at.column);
        sum += static_cast<T>(grads[InResized(spec, at, r, c)] * part);
      }
    }
    out[i] = sum;
  }
}

template <typename T>
__global__ void NearestKernel(ResizeSpec spec, int64_t elements, const T* images, T* resized) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    const Pixel at = ResizedPixel(spec, i);
    resized[i] = images[InImages(spec, at, spec.down.At(at.row).lower, spec.across.At(at.column).lower)];
  }
}

template <typename T>
__global__ void NearestGradKernel(ResizeSpec spec, int64_t elements, const T* grads, T* out) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    const Pixel at = ImagePixel(spec, i);
    const int64_t end_row = spec.down.EndOf(at.row), end_column = spec.across.EndOf(at.column);
    const int64_t first_column = spec.across.FirstOf(at.column);
    T sum = T(0);
    for (int64_t r = spec.down.FirstOf(at.row); r < end_row; ++r) {
      for (int64_t c = first_column; c < end_column; ++c) sum += grads[InResized(spec, at, r, c)];
    }
    out[i] = sum;
  }
}

template <typename T>
__global__ void ReverseSequenceKernel(ReverseSpec spec, IndexReader lengths, const T* from, T* to) {
  for (int64_t i = ThreadIndex(); i < spec.elements; i += ThreadCount()) {
    const int64_t at = i / spec.sequence_stride % spec.sequence;
    const int64_t asked = lengths[i / spec.batch_stride % spec.batch];
    const int64_t length = asked < spec.sequence ? asked : spec.sequence;
    to[i] = from[at < length ? i + (length - 1 - 2 * at) * spec.sequence_stride : i];
  }
}

template <typename Run>
void BySize(int64_t bytes, const Run& run) {
  switch (bytes) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

}  // namespace

template <typename T>
void RunResizeBilinear(Launch& launch, const ResizeSpec& spec, const T* images, float* resized) {
  const int64_t elements = ResizedElements(spec);
  if (elements == 0) return;
  BilinearKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(spec, elements, images, resized);
  CheckLaunch("resizing images");
}

template <typename T>
void RunResizeBilinearGrad(Launch& launch, const ResizeSpec& spec, const float* grads, T* out) {
  const int64_t elements = ImageElements(spec);
  if (elements == 0) return;
  BilinearGradKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(spec, elements, grads, out);
  CheckLaunch("the gradient of resized images");
}

void RunResizeNearest(Launch& launch, const ResizeSpec& spec, int64_t element_bytes, const void* images,
                      void* resized) {
  const int64_t elements = ResizedElements(spec);
  if (elements == 0) return;
  BySize(element_bytes, [&](auto tag) {
    using T = decltype(tag);
    NearestKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(
        spec, elements, static_cast<const T*>(images), static_cast<T*>(resized));
  });
  CheckLaunch("resizing images");
}

template <typename T>
void RunResizeNearestGrad(Launch& launch, const ResizeSpec& spec, const T* grads, T* out) {
  const int64_t elements = ImageElements(spec);
  if (elements == 0) return;
  NearestGradKernel<T><<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(spec, elements, grads, out);
  CheckLaunch("the gradient of resized images");
}

void RunReverseSequence(Launch& launch, const ReverseSpec& spec, int64_t element_bytes, IndexReader lengths,
                        const void* from, void* to) {
  if (spec.elements == 0) return;
  BySize(element_bytes, [&](auto tag) {
    using T = decltype(tag);
    ReverseSequenceKernel<T><<<BlocksFor(spec.elements), kThreads, 0, launch.stream()>>>(
        spec, lengths, static_cast<const T*>(from), static_cast<T*>(to));
  });
  CheckLaunch("reversing sequences");
}

#define LANESCOPE_IMAGES_FOR(T)                                                         \
  template void RunResizeBilinear<T>(Launch&, const ResizeSpec&, const T*, float*);     \
  template void RunResizeBilinearGrad<T>(Launch&, const ResizeSpec&, const float*, T*); \
  template void RunResizeNearestGrad<T>(Launch&, const ResizeSpec&, const T*, T*);
LANESCOPE_IMAGES_FOR(float)
LANESCOPE_IMAGES_FOR(double)
#undef LANESCOPE_IMAGES_FOR

}  // namespace lanescope::exec::cuda
