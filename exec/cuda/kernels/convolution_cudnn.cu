// SPDX-License-Identifier: Apache-2.0
// Convolutions by the classic functions of cuDNN, which versions 8 and 9 both have.
//
// Images stay as TensorFlow lays them out (NHWC), so that no tensor of theirs is ever rearranged. cuDNN asks
// for filters in the same order (KRSC) then and has float32 algorithms for all three directions there, but
// none for doubles. TensorFlow's filters (RSCK) are small: they are turned in scratch memory.
//
// What is chosen for a shape is kept with its descriptors on the stream, so that replayed launches find it.
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "exec/cuda/kernels/convolution_cudnn.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/scratch_layout.h"
#include "exec/cuda/launch.cuh"

namespace lanescope::exec::cuda {
namespace {

// cuDNN 9 groups its statuses by thousands.
bool NotSupported(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_NOT_SUPPORTED) return true;
  return CUDNN_MAJOR >= 9 && static_cast<int>(status) / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
}

bool LacksMemory(cudnnStatus_t status) {
  constexpr int kDeviceAllocationFailed = 4004;  // version 8 has no name for it
  return status == CUDNN_STATUS_ALLOC_FAILED || static_cast<int>(status) == kDeviceAllocationFailed;
}

void CheckCudnn(cudnnStatus_t status, const char* what) {
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

// How a convolution of one shape is done in one direction.
struct Plan {
  Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor> images;
  Owned<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor> out;
  Owned<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor> filter;
  Owned<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor> convolution;
  bool usable = false;  // false: cuDNN has nothing for it
  int algorithm = 0;    // of the direction's enumeration
  size_t workspace_bytes = 0;
};

// The names by which the three directions differ.
struct Forward {
  using Ranked = cudnnConvolutionFwdAlgoPerf_t;
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  static constexpr int64_t kKey = 0;
  static constexpr const char* kName = "a convolution by cuDNN";

  static cudnnStatus_t MaxCount(cudnnHandle_t cudnn, int* count) {
    return cudnnGetConvolutionForwardAlgorithmMaxCount(cudnn, count);
  }
  static cudnnStatus_t Rank(cudnnHandle_t cudnn, const Plan& plan, int room, int* count, Ranked* ranked) {
    return cudnnGetConvolutionForwardAlgorithm_v7(cudnn, plan.images, plan.filter, plan.convolution, plan.out,
                                                  room, count, ranked);
  }
  static cudnnStatus_t Size(cudnnHandle_t cudnn, const Plan& plan, Algorithm algorithm, size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(cudnn, plan.images, plan.filter, plan.convolution,
                                                   plan.out, algorithm, bytes);
  }
};

struct InputGrad {
  using Ranked = cudnnConvolutionBwdDataAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  static constexpr int64_t kKey = 1;
  static constexpr const char* kName = "a convolution's gradient by its images by cuDNN";

  static cudnnStatus_t MaxCount(cudnnHandle_t cudnn, int* count) {
    return cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnn, count);
  }
  static cudnnStatus_t Rank(cudnnHandle_t cudnn, const Plan& plan, int room, int* count, Ranked* ranked) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnn, plan.filter, plan.out, plan.convolution,
                                                       plan.images, room, count, ranked);
  }
  static cudnnStatus_t Size(cudnnHandle_t cudnn, const Plan& plan, Algorithm algorithm, size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(cudnn, plan.filter, plan.out, plan.convolution,
                                                        plan.images, algorithm, bytes);
  }
};

struct FilterGrad {
  using Ranked = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  static constexpr int64_t kKey = 2;
  static constexpr const char* kName = "a convolution's gradient by its filter by cuDNN";

  static cudnnStatus_t MaxCount(cudnnHandle_t cudnn, int* count) {
    return cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnn, count);
  }
  static cudnnStatus_t Rank(cudnnHandle_t cudnn, const Plan& plan, int room, int* count, Ranked* ranked) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnn, plan.images, plan.out, plan.convolution,
                                                         plan.filter, room, count, ranked);
  }
  static cudnnStatus_t Size(cudnnHandle_t cudnn, const Plan& plan, Algorithm algorithm, size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnn, plan.images, plan.out, plan.convolution,
                                                          plan.filter, algorithm, bytes);
  }
};

constexpr int64_t kMostInt = std::numeric_limits<int>::max();

// cuDNN pads both ends alike: what the convolution asks for behind the image does not matter as long as the
// windows are as many.
bool SameWindows(const WindowAxis& axis) {
  const int64_t room = axis.in + 2 * axis.before - ((axis.size - 1) * axis.dilation + 1);
  return axis.before >= 0 && axis.spread == 1 && room >= 0 && room / axis.stride + 1 == axis.out;
}

bool FitsInt(const WindowAxis& axis) {
  return std::max({axis.in + 2 * axis.before, axis.size * axis.dilation, axis.stride}) <= kMostInt;
}

// Sizes and offsets are ints in cuDNN, and none may be zero.
bool Expressible(const ConvSpec& spec) {
  const int64_t images = spec.batch * spec.rows.in * spec.columns.in * spec.channels;
  const int64_t out = spec.positions() * spec.filters;
  const int64_t filter = spec.patch() * spec.filters;
  return std::min({images, out, filter}) > 0 && std::max({images, out, filter}) <= kMostInt &&
         FitsInt(spec.rows) && FitsInt(spec.columns) && SameWindows(spec.rows) && SameWindows(spec.columns);
}

// The descriptor's math decides what an algorithm computes; its ranks for other math say nothing of it.
// Exact: without TF32. Conversions to halves are never wanted.
bool CountsAs(cudnnMathType_t ranked, bool exact) {
  if (exact) return ranked == CUDNN_FMA_MATH || ranked == CUDNN_DEFAULT_MATH;
  return ranked != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
}

cudnnStatus_t Describe(const ConvSpec& spec, bool exact, Plan* plan) {
  const auto number = [](int64_t value) { return static_cast<int>(value); };
  const WindowAxis &rows = spec.rows, &columns = spec.columns;
  CheckCudnn(cudnnCreateTensorDescriptor(&plan->images.handle), "cudnnCreateTensorDescriptor");
  CheckCudnn(cudnnCreateTensorDescriptor(&plan->out.handle), "cudnnCreateTensorDescriptor");
  CheckCudnn(cudnnCreateFilterDescriptor(&plan->filter.handle), "cudnnCreateFilterDescriptor");
  CheckCudnn(cudnnCreateConvolutionDescriptor(&plan->convolution.handle), "cudnnCreateConvolutionDescriptor");
  for (const cudnnStatus_t status :
       {cudnnSetTensor4dDescriptor(plan->images, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, number(spec.batch),
                                   number(spec.channels), number(rows.in), number(columns.in)),
        cudnnSetTensor4dDescriptor(plan->out, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, number(spec.batch),
                                   number(spec.filters), number(rows.out), number(columns.out)),
        cudnnSetFilter4dDescriptor(plan->filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, number(spec.filters),
                                   number(spec.channels), number(rows.size), number(columns.size)),
        cudnnSetConvolution2dDescriptor(plan->convolution, number(rows.before), number(columns.before),
                                        number(rows.stride), number(columns.stride), number(rows.dilation),
                                        number(columns.dilation), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        // The default math is TF32 where a GPU has it.
        cudnnSetConvolutionMathType(plan->convolution, exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH)}) {
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return CUDNN_STATUS_SUCCESS;
}

// The first of cuDNN's ranking, which it makes without running anything, that gives the same bytes every time
// and takes no more scratch memory than patches would.
template <typename Direction>
void Choose(cudnnHandle_t cudnn, bool exact, Plan* plan) {
  int count = 0;
  CheckCudnn(Direction::MaxCount(cudnn, &count), Direction::kName);
  std::vector<typename Direction::Ranked> ranked(static_cast<size_t>(std::max(1, count)));
  const cudnnStatus_t status =
      Direction::Rank(cudnn, *plan, static_cast<int>(ranked.size()), &count, ranked.data());
  if (NotSupported(status)) return;
  CheckCudnn(status, Direction::kName);
  ranked.resize(static_cast<size_t>(count));
  for (const auto& candidate : ranked) {
    if (candidate.status != CUDNN_STATUS_SUCCESS || candidate.determinism != CUDNN_DETERMINISTIC) continue;
    if (!CountsAs(candidate.mathType, exact)) continue;
    size_t bytes = 0;
    const cudnnStatus_t sized = Direction::Size(cudnn, *plan, candidate.algo, &bytes);
    if (NotSupported(sized)) continue;
    CheckCudnn(sized, Direction::kName);
    if (bytes > static_cast<size_t>(kConvolutionScratch)) continue;
    plan->usable = true;
    plan->algorithm = static_cast<int>(candidate.algo);
    plan->workspace_bytes = bytes;
    return;
  }
}

// The stream's handle and the plans that were made with it.
class CudnnStream {
 public:
  static CudnnStream& Of(Launch& launch) {
    auto& stream = launch.Keep<CudnnStream>();
    if (stream.cudnn_.handle == nullptr) stream.Open(launch);
    return stream;
  }

  cudnnHandle_t handle() const { return cudnn_; }

  template <typename Direction>
  Plan& PlanFor(const ConvSpec& spec, bool exact) {
    const WindowAxis &rows = spec.rows, &columns = spec.columns;
    const Key key = {Direction::kKey, spec.batch,     spec.channels,    spec.filters,  rows.in,
                     rows.size,       rows.stride,    rows.dilation,    rows.before,   columns.in,
                     columns.size,    columns.stride, columns.dilation, columns.before};
    std::unique_ptr<Plan>& kept = plans_[key];
    if (kept == nullptr) {
      auto plan = std::make_unique<Plan>();
      const cudnnStatus_t described = Describe(spec, exact, plan.get());
      if (!NotSupported(described)) {
        CheckCudnn(described, Direction::kName);
        Choose<Direction>(cudnn_, exact, plan.get());
      }
      kept = std::move(plan);
    }
    return *kept;
  }

 private:
  using Key = std::array<int64_t, 14>;

  // Kept only when all of it is done: the next convolution after a lack of memory begins anew.
  void Open(Launch& launch) {
    Owned<cudnnHandle_t, cudnnDestroy> made;
    CheckCudnn(cudnnCreate(&made.handle), "cudnnCreate");
    CheckCudnn(cudnnSetStream(made, launch.stream()), "cudnnSetStream");
    std::swap(cudnn_.handle, made.handle);
  }

  Owned<cudnnHandle_t, cudnnDestroy> cudnn_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

// A dense matrix transposed: the filter [patch, filters] to cuDNN's [filters, patch], and back.
void Transpose(Launch& launch, int64_t rows, int64_t columns, const float* from, float* to) {
  CopyMap map;
  map.AddDim(columns, rows, 1);
  map.AddDim(rows, 1, columns);
  RunStridedCopy(launch, sizeof(float), map, to, from);
}

// Calls run(handle, plan, filter, workspace) with memory for the filter as cuDNN wants it.
template <typename Direction, typename Run>
bool Convolve(Launch& launch, const ConvSpec& spec, Run run) {
  if (!Expressible(spec)) return false;
  CudnnStream& stream = CudnnStream::Of(launch);
  Plan& plan = stream.PlanFor<Direction>(spec, !launch.allow_tf32());
  if (!plan.usable) return false;
  ScratchLayout layout;
  const int64_t filter_at = layout.Add(spec.patch() * spec.filters * static_cast<int64_t>(sizeof(float)));
  const int64_t workspace_at = layout.Add(static_cast<int64_t>(plan.workspace_bytes));
  char* scratch = static_cast<char*>(launch.Scratch(layout.bytes()));
  const cudnnStatus_t status =
      run(stream.handle(), plan, reinterpret_cast<float*>(scratch + filter_at), scratch + workspace_at);
  // Some of what an algorithm cannot do shows only here.
  if (NotSupported(status)) plan.usable = false;
  if (!plan.usable) return false;
  CheckCudnn(status, Direction::kName);
  return true;
}

constexpr float kOne = 1;
constexpr float kZero = 0;

}  // namespace

bool CudnnConvolution(Launch& launch, const ConvSpec& spec, const float* images, const float* filter,
                      float* out) {
  return Convolve<Forward>(
      launch, spec, [&](cudnnHandle_t cudnn, const Plan& plan, float* turned, void* workspace) {
        Transpose(launch, spec.patch(), spec.filters, filter, turned);
        return cudnnConvolutionForward(cudnn, &kOne, plan.images, images, plan.filter, turned,
                                       plan.convolution, static_cast<Forward::Algorithm>(plan.algorithm),
                                       workspace, plan.workspace_bytes, &kZero, plan.out, out);
      });
}

bool CudnnInputGrad(Launch& launch, const ConvSpec& spec, const float* filter, const float* dy, float* dx) {
  return Convolve<InputGrad>(
      launch, spec, [&](cudnnHandle_t cudnn, const Plan& plan, float* turned, void* workspace) {
        Transpose(launch, spec.patch(), spec.filters, filter, turned);
        return cudnnConvolutionBackwardData(cudnn, &kOne, plan.filter, turned, plan.out, dy, plan.convolution,
                                            static_cast<InputGrad::Algorithm>(plan.algorithm), workspace,
                                            plan.workspace_bytes, &kZero, plan.images, dx);
      });
}

bool CudnnFilterGrad(Launch& launch, const ConvSpec& spec, const float* images, const float* dy,
                     float* dfilter) {
  return Convolve<FilterGrad>(
      launch, spec, [&](cudnnHandle_t cudnn, const Plan& plan, float* turned, void* workspace) {
        const cudnnStatus_t status =
            cudnnConvolutionBackwardFilter(cudnn, &kOne, plan.images, images, plan.out, dy, plan.convolution,
                                           static_cast<FilterGrad::Algorithm>(plan.algorithm), workspace,
                                           plan.workspace_bytes, &kZero, plan.filter, turned);
        if (status == CUDNN_STATUS_SUCCESS) Transpose(launch, spec.filters, spec.patch(), turned, dfilter);
        return status;
      });
}

}  // namespace lanescope::exec::cuda
