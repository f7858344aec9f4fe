// SPDX-License-Identifier: Apache-2.0
// The names by which the three directions of a convolution differ in cuDNN, its descriptors, and what it can
// do at all. For convolution_cudnn.cu alone.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "exec/cuda/kernels/convolution_order.h"
#include "exec/cuda/launch.cuh"

namespace lanescope::exec::cuda {

// cuDNN 9 groups its statuses by thousands.
inline bool NotSupported(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_NOT_SUPPORTED) return true;
  return CUDNN_MAJOR >= 9 && static_cast<int>(status) / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
}

inline bool LacksMemory(cudnnStatus_t status) {
  constexpr int kDeviceAllocationFailed = 4004;  // version 8 has no name for it
  return status == CUDNN_STATUS_ALLOC_FAILED || static_cast<int>(status) == kDeviceAllocationFailed;
}

inline void CheckCudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  cudaGetLastError();  // else the next check would report what cuDNN met
  const bool memory = LacksMemory(status);
  throw Error(
      memory ? Code::kResourceExhausted : Code::kInternal,
      std::string(what) + " failed: " + cudnnGetErrorString(status) +
          (memory ? "; cuDNN takes memory outside the device's limit: lower the limit in the machine file or "
                    "--memory-fraction"
                  : "; a build with -DLANESCOPE_CUDNN=OFF convolves without cuDNN"));
}

template <typename Handle, cudnnStatus_t (*kDestroy)(Handle)>
struct Owned {
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle != nullptr) kDestroy(handle);
  }
  operator Handle() const { return handle; }

  Handle handle = nullptr;
};

// A convolution of one shape with its tensors in one order.
struct ConvDescriptors {
  Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor> images;
  Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor> out;
  Owned<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor> filter;
  Owned<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor> convolution;
};

// By ConvTensor.
using ConvPointers = std::array<float*, 3>;

inline float* At(const ConvPointers& tensors, ConvTensor tensor) {
  return tensors[static_cast<size_t>(tensor)];
}

// Memory that an algorithm works in.
struct Workspace {
  void* memory = nullptr;
  size_t bytes = 0;
};

inline constexpr float kOne = 1;
inline constexpr float kZero = 0;

// The names by which the three directions differ.
struct Forward {
  using Ranked = cudnnConvolutionFwdAlgoPerf_t;
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  static constexpr int64_t kKey = 0;
  static constexpr ConvTensor kResult = ConvTensor::kOut;
  static constexpr const char* kName = "a convolution by cuDNN";

  static cudnnStatus_t MaxCount(cudnnHandle_t cudnn, int* count) {
    return cudnnGetConvolutionForwardAlgorithmMaxCount(cudnn, count);
  }
  static cudnnStatus_t Rank(cudnnHandle_t cudnn, const ConvDescriptors& how, int room, int* count,
                            Ranked* ranked) {
    return cudnnGetConvolutionForwardAlgorithm_v7(cudnn, how.images, how.filter, how.convolution, how.out,
                                                  room, count, ranked);
  }
  static cudnnStatus_t Size(cudnnHandle_t cudnn, const ConvDescriptors& how, Algorithm algorithm,
                            size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(cudnn, how.images, how.filter, how.convolution, how.out,
                                                   algorithm, bytes);
  }
  static cudnnStatus_t Run(cudnnHandle_t cudnn, const ConvDescriptors& how, Algorithm algorithm,
                           const Workspace& space, const ConvPointers& at) {
    return cudnnConvolutionForward(cudnn, &kOne, how.images, At(at, ConvTensor::kImages), how.filter,
                                   At(at, ConvTensor::kFilter), how.convolution, algorithm, space.memory,
                                   space.bytes, &kZero, how.out, At(at, ConvTensor::kOut));
  }
};

struct InputGrad {
  using Ranked = cudnnConvolutionBwdDataAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  static constexpr int64_t kKey = 1;
  static constexpr ConvTensor kResult = ConvTensor::kImages;
  static constexpr const char* kName = "a convolution's gradient by its images by cuDNN";

  static cudnnStatus_t MaxCount(cudnnHandle_t cudnn, int* count) {
    return cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnn, count);
  }
  static cudnnStatus_t Rank(cudnnHandle_t cudnn, const ConvDescriptors& how, int room, int* count,
                            Ranked* ranked) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnn, how.filter, how.out, how.convolution,
                                                       how.images, room, count, ranked);
  }
  static cudnnStatus_t Size(cudnnHandle_t cudnn, const ConvDescriptors& how, Algorithm algorithm,
                            size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn, how.filter, how.out, how.convolution,
                                                        how.images, algorithm, bytes);
  }
  static cudnnStatus_t Run(cudnnHandle_t cudnn, const ConvDescriptors& how, Algorithm algorithm,
                           const Workspace& space, const ConvPointers& at) {
    return cudnnConvolutionBackwardData(cudnn, &kOne, how.filter, At(at, ConvTensor::kFilter), how.out,
                                        At(at, ConvTensor::kOut), how.convolution, algorithm, space.memory,
                                        space.bytes, &kZero, how.images, At(at, ConvTensor::kImages));
  }
};

struct FilterGrad {
  using Ranked = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  static constexpr int64_t kKey = 2;
  static constexpr ConvTensor kResult = ConvTensor::kFilter;
  static constexpr const char* kName = "a convolution's gradient by its filter by cuDNN";

  static cudnnStatus_t MaxCount(cudnnHandle_t cudnn, int* count) {
    return cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnn, count);
  }
  static cudnnStatus_t Rank(cudnnHandle_t cudnn, const ConvDescriptors& how, int room, int* count,
                            Ranked* ranked) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnn, how.images, how.out, how.convolution,
                                                         how.filter, room, count, ranked);
  }
  static cudnnStatus_t Size(cudnnHandle_t cudnn, const ConvDescriptors& how, Algorithm algorithm,
                            size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn, how.images, how.out, how.convolution,
                                                          how.filter, algorithm, bytes);
  }
  static cudnnStatus_t Run(cudnnHandle_t cudnn, const ConvDescriptors& how, Algorithm algorithm,
                           const Workspace& space, const ConvPointers& at) {
    return cudnnConvolutionBackwardFilter(cudnn, &kOne, how.images, At(at, ConvTensor::kImages), how.out,
                                          At(at, ConvTensor::kOut), how.convolution, algorithm, space.memory,
                                          space.bytes, &kZero, how.filter, At(at, ConvTensor::kFilter));
  }
};

inline constexpr int64_t kMostInt = std::numeric_limits<int>::max();

// cuDNN pads both ends alike: what the convolution asks for behind the image does not matter as long as the
// windows are as many.
inline bool SameWindows(const WindowAxis& axis) {
  const int64_t room = axis.in + 2 * axis.before - ((axis.size - 1) * axis.dilation + 1);
  return axis.before >= 0 && axis.spread == 1 && room >= 0 && room / axis.stride + 1 == axis.out;
}

inline bool FitsInt(const WindowAxis& axis) {
  return std::max({axis.in + 2 * axis.before, axis.size * axis.dilation, axis.stride}) <= kMostInt;
}

// Sizes and offsets are ints in cuDNN, and none may be zero.
inline bool Expressible(const ConvSpec& spec) {
  const int64_t images = spec.batch * spec.rows.in * spec.columns.in * spec.channels;
  const int64_t out = spec.positions() * spec.filters;
  const int64_t filter = spec.patch() * spec.filters;
  return std::min({images, out, filter}) > 0 && std::max({images, out, filter}) <= kMostInt &&
         FitsInt(spec.rows) && FitsInt(spec.columns) && SameWindows(spec.rows) && SameWindows(spec.columns);
}

// The descriptor's math decides what an algorithm computes; its ranks for other math say nothing of it.
// Exact: without TF32. Conversions to halves are never wanted.
inline bool CountsAs(cudnnMathType_t ranked, bool exact) {
  if (exact) return ranked == CUDNN_FMA_MATH || ranked == CUDNN_DEFAULT_MATH;
  return ranked != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
}

inline cudnnStatus_t Describe(const ConvSpec& spec, ConvOrder order, bool exact, ConvDescriptors* how) {
  const auto number = [](int64_t value) { return static_cast<int>(value); };
  const cudnnTensorFormat_t format = order == ConvOrder::kNchw ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC;
  const WindowAxis &rows = spec.rows, &columns = spec.columns;
  CheckCudnn(cudnnCreateTensorDescriptor(&how->images.handle), "cudnnCreateTensorDescriptor");
  CheckCudnn(cudnnCreateTensorDescriptor(&how->out.handle), "cudnnCreateTensorDescriptor");
  CheckCudnn(cudnnCreateFilterDescriptor(&how->filter.handle), "cudnnCreateFilterDescriptor");
  CheckCudnn(cudnnCreateConvolutionDescriptor(&how->convolution.handle), "cudnnCreateConvolutionDescriptor");
  for (const cudnnStatus_t status :
       {cudnnSetTensor4dDescriptor(how->images, format, CUDNN_DATA_FLOAT, number(spec.batch),
                                   number(spec.channels), number(rows.in), number(columns.in)),
        cudnnSetTensor4dDescriptor(how->out, format, CUDNN_DATA_FLOAT, number(spec.batch),
                                   number(spec.filters), number(rows.out), number(columns.out)),
        cudnnSetFilter4dDescriptor(how->filter, CUDNN_DATA_FLOAT, format, number(spec.filters),
                                   number(spec.channels), number(rows.size), number(columns.size)),
        cudnnSetConvolution2dDescriptor(how->convolution, number(rows.before), number(columns.before),
                                        number(rows.stride), number(columns.stride), number(rows.dilation),
                                        number(columns.dilation), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        // The default math is TF32 where a GPU has it.
        cudnnSetConvolutionMathType(how->convolution, exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH)}) {
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace lanescope::exec::cuda
