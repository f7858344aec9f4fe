// SPDX-License-Identifier: Apache-2.0
// Stands for cuDNN's header where there is no GPU: convolutions of float images in both orders, with the
// checks that its documentation promises. What it answers is a matter of cudnn_behaviour.h.
#pragma once

#include <vector>

#include "tests/exec/cuda/emulated/cudnn_behaviour.h"
#include "tests/exec/cuda/emulated/emulator.h"

// NOLINTBEGIN: the names are cuDNN's.
#define CUDNN_MAJOR 9

enum cudnnStatus_t {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_NOT_SUPPORTED_SHAPE = 3002,
  CUDNN_STATUS_ALLOC_FAILED = 4003,
  CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
  CUDNN_STATUS_EXECUTION_FAILED = 5000,
};
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC };
enum cudnnDataType_t { CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE };
enum cudnnConvolutionMode_t { CUDNN_CONVOLUTION, CUDNN_CROSS_CORRELATION };
enum cudnnDeterminism_t { CUDNN_NON_DETERMINISTIC, CUDNN_DETERMINISTIC };
enum cudnnMathType_t {
  CUDNN_DEFAULT_MATH,
  CUDNN_TENSOR_OP_MATH,
  CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION,
  CUDNN_FMA_MATH
};
// The algorithms of each direction: by number, as they are told apart here.
enum cudnnConvolutionFwdAlgo_t {};
enum cudnnConvolutionBwdDataAlgo_t {};
enum cudnnConvolutionBwdFilterAlgo_t {};

namespace lanescope::exec::emulator {

struct CudnnTensor {
  bool set = false, nchw = false;
  int batch, channels, rows, columns;  // of a filter: filters, channels, rows, columns

  int64_t ChannelStride() const { return nchw ? int64_t{rows} * columns : 1; }
  // The place of channel 0.
  int64_t Offset(int64_t image, int64_t row, int64_t column) const {
    return nchw ? (image * channels * rows + row) * columns + column
                : ((image * rows + row) * columns + column) * channels;
  }
};
struct CudnnConvolution {
  bool set = false, has_math = false, exact = false;
  int pad[2], stride[2], dilation[2];
};
template <typename Algorithm>
struct CudnnRanked {
  Algorithm algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};

}  // namespace lanescope::exec::emulator

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
using cudnnHandle_t = cudnnContext*;
using cudnnTensorDescriptor_t = lanescope::exec::emulator::CudnnTensor*;
using cudnnFilterDescriptor_t = lanescope::exec::emulator::CudnnTensor*;
using cudnnConvolutionDescriptor_t = lanescope::exec::emulator::CudnnConvolution*;
using cudnnConvolutionFwdAlgoPerf_t = lanescope::exec::emulator::CudnnRanked<cudnnConvolutionFwdAlgo_t>;
using cudnnConvolutionBwdDataAlgoPerf_t =
    lanescope::exec::emulator::CudnnRanked<cudnnConvolutionBwdDataAlgo_t>;
using cudnnConvolutionBwdFilterAlgoPerf_t =
    lanescope::exec::emulator::CudnnRanked<cudnnConvolutionBwdFilterAlgo_t>;

namespace lanescope::exec::emulator {

using Answer = CudnnBehaviour::Answer;

struct Problem {
  CudnnTensor images, filter, out;
  CudnnConvolution how;

  int Windows(int dim, int in, int size) const {
    const int room = in + 2 * how.pad[dim] - ((size - 1) * how.dilation[dim] + 1);
    return room < 0 ? 0 : room / how.stride[dim] + 1;
  }
  bool Valid() const {
    return images.set && filter.set && out.set && how.set && how.has_math && images.batch == out.batch &&
           images.nchw == out.nchw && images.nchw == filter.nchw && images.channels == filter.channels &&
           filter.batch == out.channels && out.rows > 0 && out.columns > 0 &&
           Windows(0, images.rows, filter.rows) == out.rows &&
           Windows(1, images.columns, filter.columns) == out.columns;
  }
  size_t WorkspaceBytes(int algorithm) const {
    return (algorithm == kPlanes ? 5000 : 100) + 4 * static_cast<size_t>(out.rows);
  }

  // Calls tap(offsets of channel 0 in the images, the filter's first and the output) for all that meet.
  template <typename Tap>
  void ForEachTap(Tap tap) const {
    for (int64_t place = 0; place < int64_t{out.batch} * out.rows * out.columns; ++place) {
      const int64_t image = place / out.columns / out.rows;
      const int64_t out_row = place / out.columns % out.rows, out_column = place % out.columns;
      for (int t = 0; t < filter.rows * filter.columns; ++t) {
        const int64_t r = t / filter.columns, s = t % filter.columns;
        const int64_t row = out_row * how.stride[0] - how.pad[0] + r * how.dilation[0];
        const int64_t column = out_column * how.stride[1] - how.pad[1] + s * how.dilation[1];
        if (row < 0 || row >= images.rows || column < 0 || column >= images.columns) continue;
        tap(images.Offset(image, row, column), filter.Offset(0, r, s),
            out.Offset(image, out_row, out_column));
      }
    }
  }
  // Calls product(offsets in images, filter and output) for all products of the convolution.
  template <typename Product>
  void ForEachProduct(Product product) const {
    const int64_t in_step = images.ChannelStride(), filter_step = filter.ChannelStride();
    const int64_t next_filter = filter.Offset(1, 0, 0), out_step = out.ChannelStride();
    ForEachTap([&](int64_t image, int64_t tap, int64_t place) {
      for (int f = 0; f < filter.batch; ++f) {
        const int64_t taps = tap + f * next_filter, to = place + f * out_step;
        for (int c = 0; c < filter.channels; ++c) product(image + c * in_step, taps + c * filter_step, to);
      }
    });
  }
};

inline int64_t Elements(const CudnnTensor& t) { return int64_t{t.batch} * t.channels * t.rows * t.columns; }

template <typename Ranked>
cudnnStatus_t Rank(const Problem& problem, int room, int* count, Ranked* ranked) {
  ++cudnn.rankings;
  if (!problem.Valid()) return CUDNN_STATUS_BAD_PARAM;
  *count = 0;
  if (cudnn.answer == Answer::kNothingSupported) return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
  const auto add = [&](CudnnAlgorithm algorithm, cudnnStatus_t status, cudnnDeterminism_t determinism,
                       cudnnMathType_t math) {
    if (*count == room) return;
    ranked[(*count)++] = {
        static_cast<decltype(ranked->algo)>(algorithm), status, -1, 0, determinism, math, {}};
  };
  const auto add_planes = [&] { add(kPlanes, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, CUDNN_FMA_MATH); };
  if (cudnn.answer == Answer::kOnlyPlanes) {
    if (problem.images.nchw) add_planes();
    return CUDNN_STATUS_SUCCESS;
  }
  add(kNotThisShape, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC, CUDNN_DEFAULT_MATH);
  add(kNondeterministic, CUDNN_STATUS_SUCCESS, CUDNN_NON_DETERMINISTIC, CUDNN_DEFAULT_MATH);
  if (cudnn.answer == Answer::kOnlyNondeterministic) return CUDNN_STATUS_SUCCESS;
  add(kNeedsMuch, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, CUDNN_DEFAULT_MATH);
  if (cudnn.answer == Answer::kOnlyLargeWorkspaces) return CUDNN_STATUS_SUCCESS;
  add(kOther, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
  add(kGood, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, CUDNN_DEFAULT_MATH);
  add(kGood, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC, CUDNN_FMA_MATH);
  if (problem.images.nchw) add_planes();
  return CUDNN_STATUS_SUCCESS;
}

inline cudnnStatus_t WorkspaceSize(const Problem& problem, int algorithm, size_t* bytes) {
  if (!problem.Valid()) return CUDNN_STATUS_BAD_PARAM;
  if (algorithm == kNotThisShape) return CUDNN_STATUS_NOT_SUPPORTED;
  *bytes = algorithm == kNeedsMuch ? size_t{1} << 40 : problem.WorkspaceBytes(algorithm);
  return CUDNN_STATUS_SUCCESS;
}

// Runs sum(problem, result in doubles) on the stream. A factor of zero leaves what was there unread.
template <typename Sum>
cudnnStatus_t Convolve(cudnnHandle_t handle, const Problem& problem, int algorithm, const void* alpha,
                       const void* beta, void* workspace, size_t workspace_bytes, float* result,
                       int64_t elements, Sum sum) {
  ++cudnn.convolutions;
  cudnn.exact = problem.how.exact;
  if (cudnn.answer == Answer::kRefusesToRun) return CUDNN_STATUS_NOT_SUPPORTED;
  if (cudnn.answer == Answer::kFails) return CUDNN_STATUS_EXECUTION_FAILED;
  if (cudnn.answer == Answer::kOutOfMemory) return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  const bool known =
      algorithm == kGood || algorithm == kNondeterministic || (algorithm == kPlanes && problem.images.nchw);
  const bool valid = handle != nullptr && handle->stream != nullptr && problem.Valid() && known &&
                     workspace_bytes >= problem.WorkspaceBytes(algorithm) &&
                     reinterpret_cast<uintptr_t>(workspace) % 16 == 0 &&
                     *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
  if (!valid) return CUDNN_STATUS_BAD_PARAM;
  streams->Enqueue(handle->stream, [=] {
    ++cudnn.runs;
    const int order = problem.images.nchw ? 1 : 0, before = cudnn.ran[order][algorithm]++;
    cudnn.last_order = order;
    cudnn.last_algorithm = algorithm;
    if (cudnn.takes_ns) streams->Pass(cudnn.takes_ns(order, algorithm, before));
    std::memset(workspace, 0xEE, workspace_bytes);
    std::vector<double> sums(static_cast<size_t>(elements));
    sum(problem, sums.data());
    std::copy(sums.begin(), sums.end(), result);
  });
  return CUDNN_STATUS_SUCCESS;
}

inline void Set(CudnnTensor* tensor, bool nchw, int batch, int channels, int rows, int columns) {
  *tensor = {true, nchw, batch, channels, rows, columns};
}

template <typename T>
cudnnStatus_t Make(T** made) {
  *made = new T();
  return CUDNN_STATUS_SUCCESS;
}
template <typename T>
cudnnStatus_t Drop(T* made) {
  delete made;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace lanescope::exec::emulator

inline const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_EMULATED";
  }
}
inline size_t cudnnGetVersion() { return lanescope::exec::emulator::cudnn.version; }
inline cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  using namespace lanescope::exec::emulator;
  if (cudnn.answer == Answer::kNoHandle) return CUDNN_STATUS_ALLOC_FAILED;
  ++cudnn.handles;
  return Make(handle);
}
inline cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  --lanescope::exec::emulator::cudnn.handles;
  return lanescope::exec::emulator::Drop(handle);
}
// Here and not in cudnnCreate, which waits for the device too: so that a capture refuses it.
inline cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  lanescope::exec::emulator::streams->Synchronize(stream);
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  return lanescope::exec::emulator::Make(made);
}
inline cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t made) {
  return lanescope::exec::emulator::Drop(made);
}
inline cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  return lanescope::exec::emulator::Make(made);
}
inline cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t made) {
  return lanescope::exec::emulator::Drop(made);
}
inline cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  return lanescope::exec::emulator::Make(made);
}
inline cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t made) {
  return lanescope::exec::emulator::Drop(made);
}
inline cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                                cudnnDataType_t type, int n, int c, int h, int w) {
  if (type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_BAD_PARAM;
  if (std::min({n, c, h, w}) < 1) return CUDNN_STATUS_BAD_PARAM;
  lanescope::exec::emulator::Set(tensor, format == CUDNN_TENSOR_NCHW, n, c, h, w);
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                                cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return cudnnSetTensor4dDescriptor(filter, format, type, k, c, h, w);
}
inline cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t how, int pad_h, int pad_w,
                                                     int u, int v, int dilation_h, int dilation_w,
                                                     cudnnConvolutionMode_t mode, cudnnDataType_t type) {
  if (std::min(pad_h, pad_w) < 0 || std::min({u, v, dilation_h, dilation_w}) < 1)
    return CUDNN_STATUS_BAD_PARAM;
  if (mode != CUDNN_CROSS_CORRELATION || type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_BAD_PARAM;
  *how = {true, false, false, {pad_h, pad_w}, {u, v}, {dilation_h, dilation_w}};
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t how, cudnnMathType_t math) {
  if (math != CUDNN_FMA_MATH && math != CUDNN_DEFAULT_MATH) return CUDNN_STATUS_BAD_PARAM;
  how->has_math = true;
  how->exact = math == CUDNN_FMA_MATH;
  return CUDNN_STATUS_SUCCESS;
}

// The order of a direction's descriptors in its two queries, and their roles.
#define LANESCOPE_EMULATED_QUERIES(Name, Short, TypeA, a, TypeB, b, TypeC, c)                           \
  inline cudnnStatus_t cudnnGetConvolution##Name##AlgorithmMaxCount(cudnnHandle_t, int* count) {        \
    *count = 2 * lanescope::exec::emulator::kCudnnAlgorithms;                                           \
    return CUDNN_STATUS_SUCCESS;                                                                        \
  }                                                                                                     \
  inline cudnnStatus_t cudnnGetConvolution##Name##Algorithm_v7(                                         \
      cudnnHandle_t, TypeA a, TypeB b, cudnnConvolutionDescriptor_t how, TypeC c, int room, int* count, \
      cudnnConvolution##Short##AlgoPerf_t* ranked) {                                                    \
    return lanescope::exec::emulator::Rank({*images, *filter, *out, *how}, room, count, ranked);        \
  }                                                                                                     \
  inline cudnnStatus_t cudnnGetConvolution##Name##WorkspaceSize(                                        \
      cudnnHandle_t, TypeA a, TypeB b, cudnnConvolutionDescriptor_t how, TypeC c,                       \
      cudnnConvolution##Short##Algo_t algorithm, size_t* bytes) {                                       \
    return lanescope::exec::emulator::WorkspaceSize({*images, *filter, *out, *how}, algorithm, bytes);  \
  }
LANESCOPE_EMULATED_QUERIES(Forward, Fwd, cudnnTensorDescriptor_t, images, cudnnFilterDescriptor_t, filter,
                           cudnnTensorDescriptor_t, out)
LANESCOPE_EMULATED_QUERIES(BackwardData, BwdData, cudnnFilterDescriptor_t, filter, cudnnTensorDescriptor_t,
                           out, cudnnTensorDescriptor_t, images)
LANESCOPE_EMULATED_QUERIES(BackwardFilter, BwdFilter, cudnnTensorDescriptor_t, images,
                           cudnnTensorDescriptor_t, out, cudnnFilterDescriptor_t, filter)
#undef LANESCOPE_EMULATED_QUERIES

inline cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t images, const void* x,
                                             cudnnFilterDescriptor_t filter, const void* w,
                                             cudnnConvolutionDescriptor_t how,
                                             cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                             size_t bytes, const void* beta, cudnnTensorDescriptor_t out,
                                             void* y) {
  using namespace lanescope::exec::emulator;
  const auto *from = static_cast<const float*>(x), *by = static_cast<const float*>(w);
  return Convolve(handle, {*images, *filter, *out, *how}, algorithm, alpha, beta, workspace, bytes,
                  static_cast<float*>(y), Elements(*out), [=](const Problem& p, double* sums) {
                    p.ForEachProduct([&](int64_t image, int64_t tap, int64_t place) {
                      sums[place] += double{from[image]} * by[tap];
                    });
                  });
}

inline cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                                  cudnnFilterDescriptor_t filter, const void* w,
                                                  cudnnTensorDescriptor_t out, const void* dy,
                                                  cudnnConvolutionDescriptor_t how,
                                                  cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                                  size_t bytes, const void* beta,
                                                  cudnnTensorDescriptor_t images, void* dx) {
  using namespace lanescope::exec::emulator;
  const auto *from = static_cast<const float*>(dy), *by = static_cast<const float*>(w);
  return Convolve(handle, {*images, *filter, *out, *how}, algorithm, alpha, beta, workspace, bytes,
                  static_cast<float*>(dx), Elements(*images), [=](const Problem& p, double* sums) {
                    p.ForEachProduct([&](int64_t image, int64_t tap, int64_t place) {
                      sums[image] += double{from[place]} * by[tap];
                    });
                  });
}

inline cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                                    cudnnTensorDescriptor_t images, const void* x,
                                                    cudnnTensorDescriptor_t out, const void* dy,
                                                    cudnnConvolutionDescriptor_t how,
                                                    cudnnConvolutionBwdFilterAlgo_t algorithm,
                                                    void* workspace, size_t bytes, const void* beta,
                                                    cudnnFilterDescriptor_t filter, void* dw) {
  using namespace lanescope::exec::emulator;
  const auto *from = static_cast<const float*>(x), *by = static_cast<const float*>(dy);
  return Convolve(handle, {*images, *filter, *out, *how}, algorithm, alpha, beta, workspace, bytes,
                  static_cast<float*>(dw), Elements(*filter), [=](const Problem& p, double* sums) {
                    p.ForEachProduct([&](int64_t image, int64_t tap, int64_t place) {
                      sums[tap] += double{by[place]} * from[image];
                    });
                  });
}
// NOLINTEND
