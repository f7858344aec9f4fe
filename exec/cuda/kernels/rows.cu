// SPDX-License-Identifier: Apache-2.0
// Layers that work on rows: softmax, cross entropy, local response normalisation.
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/index_reader.h"
#include "exec/cuda/kernels/nn.h"
#include "exec/functors/binary.h"

namespace lanescope::exec::cuda {
namespace {

// Threads that share a row: a warp, or a whole block for long rows. A block holds kThreads / lanes rows.
constexpr int kLongRow = 1024;

int LanesFor(int64_t classes) { return classes > kLongRow ? kThreads : 32; }

template <typename T, typename Op>
__device__ T Joined(T value, int lanes, const Op& op) {
  for (int half = 16; half > 0; half /= 2) value = op(value, __shfl_xor_sync(0xFFFFFFFFu, value, half));
  if (lanes == 32) return value;
  __shared__ T parts[kThreads / 32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int k = 1; k < kThreads / 32; ++k) value = op(value, parts[k]);
  return value;
}

// Elements of one row that may be repeated over rows or columns.
template <typename T>
struct Row {
  const T* first;
  int64_t step;
  __device__ T operator[](int64_t column) const { return first[column * step]; }
};

// The maximum of a row and the sum of its exponentials shifted by it; every thread of the row gets both.
template <typename T>
struct RowSums {
  T most;
  T total;
  __device__ RowSums(const Row<T>& row, int64_t classes, int lane, int lanes) {
    most = -T(INFINITY);
    for (int64_t c = lane; c < classes; c += lanes) most = functors::Maximum()(most, row[c]);
    most = Joined(most, lanes, functors::Maximum());
    total = T(0);
    for (int64_t c = lane; c < classes; c += lanes) total += functors::Exp()(row[c] - most);
    total = Joined(total, lanes, functors::Add());
  }
};

// Rows of a block: the row and lane of this thread. Threads of rows past the end stay with the others.
struct RowPlace {
  int lane;
  int64_t row;
  __device__ RowPlace(int lanes, int64_t first_row) {
    lane = static_cast<int>(threadIdx.x) % lanes;
    row = first_row + static_cast<int64_t>(threadIdx.x) / lanes;
  }
};

template <typename T>
__global__ void SoftmaxKernel(bool log, int64_t rows, int64_t classes, int lanes, const T* x, T* y) {
  const int64_t rows_per_block = kThreads / lanes;
  for (int64_t first = blockIdx.x * rows_per_block; first < rows; first += gridDim.x * rows_per_block) {
    const RowPlace place(lanes, first);
    if (place.row >= rows) continue;  // whole warps
    const Row<T> in{x + place.row * classes, 1};
    const RowSums<T> sums(in, classes, place.lane, lanes);
    const T log_total = functors::Log()(sums.total);
    const T scale = T(1) / sums.total;
    T* out = y + place.row * classes;
    for (int64_t c = place.lane; c < classes; c += lanes) {
      const T shifted = in[c] - sums.most;
      out[c] = log ? shifted - log_total : functors::Exp()(shifted) * scale;
    }
  }
}

// Labels are a row of weights, or one class (`classes_of` holds data).
template <typename T>
__global__ void CrossEntropyKernel(int64_t rows, int64_t classes, int lanes, const T* features,
                                   Repeated feature_steps, const T* labels, Repeated label_steps,
                                   IndexReader classes_of, T* loss, T* gradient) {
  const int64_t rows_per_block = kThreads / lanes;
  for (int64_t first = blockIdx.x * rows_per_block; first < rows; first += gridDim.x * rows_per_block) {
    const RowPlace place(lanes, first);
    if (place.row >= rows) continue;
    const Row<T> in{features + place.row * feature_steps.row_step, feature_steps.column_step};
    const RowSums<T> sums(in, classes, place.lane, lanes);
    const T log_total = functors::Log()(sums.total);
    const T scale = T(1) / sums.total;
    const bool sparse = classes_of.data != nullptr;
    const int64_t wanted = sparse ? classes_of[place.row] : 0;
    const bool bad = sparse && (wanted < 0 || wanted >= classes);
    const Row<T> weights{sparse ? nullptr : labels + place.row * label_steps.row_step,
                         label_steps.column_step};
    T* out = gradient + place.row * classes;
    T own_loss = T(0);
    for (int64_t c = place.lane; c < classes; c += lanes) {
      const T shifted = in[c] - sums.most;
      const T weight = sparse ? (c == wanted ? T(1) : T(0)) : weights[c];
      own_loss -= weight == T(0) ? T(0) : weight * (shifted - log_total);
      out[c] = bad ? T(NAN) : functors::Exp()(shifted) * scale - weight;
    }
    own_loss = Joined(own_loss, lanes, functors::Add());
    if (place.lane == 0) loss[place.row] = bad ? T(NAN) : own_loss;
  }
}

unsigned RowBlocks(int64_t rows, int lanes) { return BlocksFor(rows, kThreads / lanes); }

// norm^-beta; the exponents that networks use need no logarithm.
__device__ float NegativePower(float norm, float beta) {
  if (beta == 0.75f) {
    const float root = functors::Sqrt()(norm);
    return 1.0f / (root * functors::Sqrt()(root));
  }
  if (beta == 0.5f) return functors::Rsqrt()(norm);
  if (beta == 1.0f) return 1.0f / norm;
  return functors::Pow()(norm, -beta);
}

// bias + alpha * (sum of squares around channel c)
__device__ float Norm(const LrnSpec& spec, const float* pixel, int64_t depth, int64_t c) {
  const int64_t first = max(c - spec.radius, int64_t{0});
  const int64_t last = min(c + spec.radius, depth - 1);
  float sum = 0.0f;
  for (int64_t k = first; k <= last; ++k) sum += pixel[k] * pixel[k];
  return spec.bias + spec.alpha * sum;
}

__global__ void LrnKernel(LrnSpec spec, int64_t elements, Divider depth, const float* x, float* y) {
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    int64_t pixel = i;
    const int64_t c = depth.Split(pixel);
    const float norm = Norm(spec, x + pixel * depth.divisor(), depth.divisor(), c);
    y[i] = x[i] * NegativePower(norm, spec.beta);
  }
}

// A block takes `pixels_per_block` whole pixels; shares[] holds dy * y / norm of their channels.
__global__ void LrnGradKernel(LrnSpec spec, int64_t pixels, int64_t pixels_per_block, Divider depth,
                              const float* x, const float* y, const float* dy, float* dx) {
  extern __shared__ float shares[];
  const int64_t channels = depth.divisor();
  for (int64_t first = blockIdx.x * pixels_per_block; first < pixels; first += gridDim.x * pixels_per_block) {
    const int64_t base = first * channels;
    const int64_t count = min(pixels_per_block, pixels - first) * channels;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      int64_t pixel = i;
      const int64_t c = depth.Split(pixel);
      shares[i] = dy[base + i] * y[base + i] / Norm(spec, x + base + pixel * channels, channels, c);
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      int64_t pixel = i;
      const int64_t c = depth.Split(pixel);
      const int64_t from = max(c - spec.radius, int64_t{0});
      const int64_t to = min(c + spec.radius, channels - 1);
      float sum = 0.0f;
      for (int64_t k = from; k <= to; ++k) sum += shares[pixel * channels + k];
      const float norm = Norm(spec, x + base + pixel * channels, channels, c);
      dx[base + i] =
          dy[base + i] * NegativePower(norm, spec.beta) - 2.0f * spec.alpha * spec.beta * x[base + i] * sum;
    }
    __syncthreads();
  }
}

// The kernel without shared memory, for more channels than fit there.
__global__ void LrnGradDeepKernel(LrnSpec spec, int64_t elements, Divider depth, const float* x,
                                  const float* y, const float* dy, float* dx) {
  const int64_t channels = depth.divisor();
  for (int64_t i = ThreadIndex(); i < elements; i += ThreadCount()) {
    int64_t pixel = i;
    const int64_t c = depth.Split(pixel);
    const int64_t base = pixel * channels;
    const int64_t from = max(c - spec.radius, int64_t{0});
    const int64_t to = min(c + spec.radius, channels - 1);
    float sum = 0.0f;
    for (int64_t k = from; k <= to; ++k) {
      sum += dy[base + k] * y[base + k] / Norm(spec, x + base, channels, k);
    }
    const float norm = Norm(spec, x + base, channels, c);
    dx[i] = dy[i] * NegativePower(norm, spec.beta) - 2.0f * spec.alpha * spec.beta * x[i] * sum;
  }
}

constexpr int64_t kSharedFloats = 8192;

}  // namespace

template <typename T>
void RunSoftmax(Launch& launch, bool log, int64_t rows, int64_t classes, const T* x, T* y) {
  if (rows * classes == 0) return;
  const int lanes = LanesFor(classes);
  SoftmaxKernel<T><<<RowBlocks(rows, lanes), kThreads, 0, launch.stream()>>>(log, rows, classes, lanes, x, y);
  CheckLaunch("Softmax");
}

template <typename T>
void RunCrossEntropy(Launch& launch, int64_t rows, int64_t classes, const T* features, Repeated feature_steps,
                     const T* labels, Repeated label_steps, T* loss, T* gradient) {
  if (rows == 0) return;
  const int lanes = LanesFor(classes);
  CrossEntropyKernel<T><<<RowBlocks(rows, lanes), kThreads, 0, launch.stream()>>>(
      rows, classes, lanes, features, feature_steps, labels, label_steps, IndexReader{}, loss, gradient);
  CheckLaunch("SoftmaxCrossEntropyWithLogits");
}

template <typename T>
void RunSparseCrossEntropy(Launch& launch, int64_t rows, int64_t classes, const T* features,
                           const void* labels, int index_bytes, T* loss, T* gradient) {
  if (rows == 0) return;
  const int lanes = LanesFor(classes);
  CrossEntropyKernel<T><<<RowBlocks(rows, lanes), kThreads, 0, launch.stream()>>>(
      rows, classes, lanes, features, Repeated{classes, 1}, nullptr, Repeated{0, 0},
      IndexReader{labels, index_bytes}, loss, gradient);
  CheckLaunch("SparseSoftmaxCrossEntropyWithLogits");
}

void RunLrn(Launch& launch, const LrnSpec& spec, int64_t pixels, int64_t depth, const float* x, float* y) {
  const int64_t elements = pixels * depth;
  if (elements == 0) return;
  LrnKernel<<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(spec, elements, Divider(depth), x, y);
  CheckLaunch("LRN");
}

void RunLrnGrad(Launch& launch, const LrnSpec& spec, int64_t pixels, int64_t depth, const float* x,
                const float* y, const float* dy, float* dx) {
  const int64_t elements = pixels * depth;
  if (elements == 0) return;
  if (depth > kSharedFloats) {
    LrnGradDeepKernel<<<BlocksFor(elements), kThreads, 0, launch.stream()>>>(spec, elements, Divider(depth),
                                                                             x, y, dy, dx);
  } else {
    const int64_t pixels_per_block = std::max<int64_t>(1, kThreads / depth);
    const size_t shared = static_cast<size_t>(pixels_per_block * depth) * sizeof(float);
    LrnGradKernel<<<BlocksFor(pixels, static_cast<int>(pixels_per_block)), kThreads, shared,
                    launch.stream()>>>(spec, pixels, pixels_per_block, Divider(depth), x, y, dy, dx);
  }
  CheckLaunch("LRNGrad");
}

#define LANESCOPE_ROWS_FOR(T)                                                                             \
  template void RunSoftmax<T>(Launch&, bool, int64_t, int64_t, const T*, T*);                             \
  template void RunCrossEntropy<T>(Launch&, int64_t, int64_t, const T*, Repeated, const T*, Repeated, T*, \
                                   T*);                                                                   \
  template void RunSparseCrossEntropy<T>(Launch&, int64_t, int64_t, const T*, const void*, int, T*, T*);
LANESCOPE_ROWS_FOR(float)
LANESCOPE_ROWS_FOR(double)
#undef LANESCOPE_ROWS_FOR

}  // namespace lanescope::exec::cuda
