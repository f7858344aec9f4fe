// SPDX-License-Identifier: Apache-2.0
// Convolutions by the classic functions of cuDNN, which versions 8 and 9 both have.
//
// In the order in which TensorFlow lays images out (NHWC) no tensor of theirs is rearranged, but cuDNN has
// few float32 algorithms there, and none for doubles. In the other order (NCHW) it has more, which may be
// worth the transposes: images, results and filters are then turned in scratch memory. An algorithm in an
// order is a way.
//
// Which way is the quickest is measured when a shape is first met, transposes included, and kept for the GPU
// (algorithm_times.h). Where nothing may be tried out, the first of cuDNN's own ranking in NHWC is taken.
// Ways whose sums come in changing orders only count if the run allows them. What is chosen for a shape is
// kept with its descriptors on the stream, so that replayed launches find it.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "exec/cuda/algorithm_times.h"
#include "exec/cuda/kernels/convolution_cudnn.h"
#include "exec/cuda/kernels/cudnn_directions.cuh"
#include "exec/cuda/kernels/launch_timer.cuh"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/scratch_layout.h"

namespace lanescope::exec::cuda {
namespace {

constexpr std::array<ConvOrder, 2> kOrders = {ConvOrder::kNhwc, ConvOrder::kNchw};
constexpr std::array<ConvTensor, 3> kTensors = {ConvTensor::kImages, ConvTensor::kFilter, ConvTensor::kOut};

struct Way {
  ConvOrder order = ConvOrder::kNhwc;
  int algorithm = 0;  // of the direction's enumeration
  size_t workspace_bytes = 0;

  std::string name() const {
    return (order == ConvOrder::kNchw ? "NCHW_" : "NHWC_") + std::to_string(algorithm);
  }
};

// A convolution of one shape in one direction.
struct Plan {
  std::array<ConvDescriptors, 2> orders;
  std::vector<Way> ways;           // NHWC first, as cuDNN ranks them; none: it has nothing for it
  std::optional<size_t> quickest;  // of the ways; nothing: they were not measured
  bool may_be_measured = true;     // once on a stream
  std::string key;                 // of the ways' times

  const ConvDescriptors& In(ConvOrder order) const { return orders[static_cast<size_t>(order)]; }

  // The way to go; ways.size(): none. Ways that were not measured do not come in NCHW, which may take long.
  size_t Chosen() const {
    if (quickest.has_value()) return *quickest;
    const auto first = std::ranges::find(ways, ConvOrder::kNhwc, &Way::order);
    return static_cast<size_t>(first - ways.begin());
  }
};

// Where a way's tensors lie in scratch memory; negative: where TensorFlow's lie.
struct WayScratch {
  std::array<int64_t, 3> tensors = {-1, -1, -1};
  int64_t workspace = 0;
  ScratchLayout layout;
};

WayScratch ScratchOf(const ConvSpec& spec, const Way& way) {
  WayScratch scratch;
  for (const ConvTensor tensor : kTensors) {
    if (KeepsOrder(MapToOrder(spec, tensor, way.order))) continue;
    scratch.tensors[static_cast<size_t>(tensor)] =
        scratch.layout.Add(ElementsOf(spec, tensor) * static_cast<int64_t>(sizeof(float)));
  }
  scratch.workspace = scratch.layout.Add(static_cast<int64_t>(way.workspace_bytes));
  return scratch;
}

// But for the filter, a way may take no more scratch memory than patches would.
bool FitsScratch(const ConvSpec& spec, const Way& way) {
  if (way.workspace_bytes > static_cast<size_t>(kConvolutionScratch)) return false;
  ScratchLayout filter;
  filter.Add(ElementsOf(spec, ConvTensor::kFilter) * static_cast<int64_t>(sizeof(float)));
  return ScratchOf(spec, way).layout.bytes() - filter.bytes() <= kConvolutionScratch;
}

// Adds what cuDNN has in this order, which it ranks without running anything.
template <typename Direction>
void AddWays(cudnnHandle_t cudnn, const Launch& launch, const ConvSpec& spec, ConvOrder order, Plan* plan) {
  const bool exact = !launch.allow_tf32();
  ConvDescriptors& how = plan->orders[static_cast<size_t>(order)];
  const cudnnStatus_t described = Describe(spec, order, exact, &how);
  if (NotSupported(described)) return;
  CheckCudnn(described, Direction::kName);
  int count = 0;
  CheckCudnn(Direction::MaxCount(cudnn, &count), Direction::kName);
  std::vector<typename Direction::Ranked> ranked(static_cast<size_t>(std::max(1, count)));
  const cudnnStatus_t status =
      Direction::Rank(cudnn, how, static_cast<int>(ranked.size()), &count, ranked.data());
  if (NotSupported(status)) return;
  CheckCudnn(status, Direction::kName);
  ranked.resize(static_cast<size_t>(count));
  for (const auto& candidate : ranked) {
    if (candidate.status != CUDNN_STATUS_SUCCESS || !CountsAs(candidate.mathType, exact)) continue;
    if (candidate.determinism != CUDNN_DETERMINISTIC && !launch.any_algorithm()) continue;
    Way way{order, static_cast<int>(candidate.algo), 0};
    // An algorithm is ranked once for each math.
    if (std::ranges::any_of(plan->ways, [&](const Way& known) { return known.name() == way.name(); }))
      continue;
    const cudnnStatus_t sized = Direction::Size(cudnn, how, candidate.algo, &way.workspace_bytes);
    if (NotSupported(sized)) continue;
    CheckCudnn(sized, Direction::kName);
    if (FitsScratch(spec, way)) plan->ways.push_back(way);
  }
}

std::vector<std::string> NamesOf(const Plan& plan) {
  std::vector<std::string> names;
  for (const Way& way : plan.ways) names.push_back(way.name());
  return names;
}

using ShapeKey = std::array<int64_t, 14>;

template <typename Direction>
ShapeKey KeyOf(const ConvSpec& spec) {
  const WindowAxis &rows = spec.rows, &columns = spec.columns;
  return {Direction::kKey, spec.batch,     spec.channels,    spec.filters,  rows.in,
          rows.size,       rows.stride,    rows.dilation,    rows.before,   columns.in,
          columns.size,    columns.stride, columns.dilation, columns.before};
}

// All that times depend on.
std::string TimesKey(const Launch& launch, const char* direction, const ShapeKey& shape) {
  std::string key("cuDNN ");
  key += std::to_string(cudnnGetVersion());
  key += '\n';
  key += launch.gpu();
  key += '\n';
  key += launch.allow_tf32() ? "TF32" : "float32";
  key += launch.any_algorithm() ? ", any algorithm\n" : ", deterministic\n";
  key += direction;
  for (const int64_t number : shape) key += ' ' + std::to_string(number);
  return key += '\n';
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
  Plan& PlanFor(const Launch& launch, const ConvSpec& spec) {
    const ShapeKey key = KeyOf<Direction>(spec);
    std::unique_ptr<Plan>& kept = plans_[key];
    if (kept == nullptr) {
      auto plan = std::make_unique<Plan>();
      for (const ConvOrder order : kOrders) AddWays<Direction>(cudnn_, launch, spec, order, plan.get());
      plan->key = TimesKey(launch, Direction::kName, key);
      if (const auto times = FindAlgorithmTimes(plan->key, NamesOf(*plan)))
        plan->quickest = QuickestOf(*times);
      kept = std::move(plan);
    }
    return *kept;
  }

 private:
  // Kept only when all of it is done: the next convolution after a lack of memory begins anew.
  void Open(Launch& launch) {
    Owned<cudnnHandle_t, cudnnDestroy> made;
    CheckCudnn(cudnnCreate(&made.handle), "cudnnCreate");
    CheckCudnn(cudnnSetStream(made, launch.stream()), "cudnnSetStream");
    std::swap(cudnn_.handle, made.handle);
  }

  Owned<cudnnHandle_t, cudnnDestroy> cudnn_;
  std::map<ShapeKey, std::unique_ptr<Plan>> plans_;
};

// A convolution in one direction: what is to be done, and how it can be.
template <typename Direction>
class Convolution {
 public:
  // `tensors`: TensorFlow's; the direction writes one and reads the others.
  Convolution(Launch& launch, const ConvSpec& spec, const ConvPointers& tensors)
      : launch_(launch),
        spec_(spec),
        tensors_(tensors),
        cudnn_(CudnnStream::Of(launch).handle()),
        plan_(CudnnStream::Of(launch).PlanFor<Direction>(launch, spec)) {}

  // False: cuDNN does not do it.
  bool Run() {
    const bool is_open = !plan_.quickest.has_value() && plan_.may_be_measured && !plan_.ways.empty();
    if (is_open && MayTry(launch_)) {
      Measure();
      plan_.may_be_measured = false;
    }
    for (size_t chosen = plan_.Chosen(); chosen < plan_.ways.size(); chosen = plan_.Chosen()) {
      const Way& way = plan_.ways[chosen];
      void* scratch = launch_.Scratch(ScratchOf(spec_, way).layout.bytes());
      const cudnnStatus_t status = RunWay(way, static_cast<char*>(scratch));
      if (!NotSupported(status)) {
        CheckCudnn(status, Direction::kName);
        return true;
      }
      // Some of what an algorithm cannot do shows only here.
      plan_.ways.erase(plan_.ways.begin() + static_cast<ptrdiff_t>(chosen));
      plan_.quickest.reset();
      plan_.may_be_measured = false;
    }
    return false;
  }

 private:
  cudnnStatus_t RunWay(const Way& way, char* scratch) {
    const WayScratch at = ScratchOf(spec_, way);
    ConvPointers placed = tensors_;
    for (const ConvTensor tensor : kTensors) {
      const auto t = static_cast<size_t>(tensor);
      if (at.tensors[t] < 0) continue;
      placed[t] = reinterpret_cast<float*>(scratch + at.tensors[t]);
      if (tensor != Direction::kResult)
        Rearrange(MapToOrder(spec_, tensor, way.order), tensors_[t], placed[t]);
    }
    const cudnnStatus_t status =
        Direction::Run(cudnn_, plan_.In(way.order), static_cast<typename Direction::Algorithm>(way.algorithm),
                       {scratch + at.workspace, way.workspace_bytes}, placed);
    constexpr auto kResult = static_cast<size_t>(Direction::kResult);
    if (status == CUDNN_STATUS_SUCCESS && at.tensors[kResult] >= 0)
      Rearrange(MapFromOrder(spec_, Direction::kResult, way.order), placed[kResult], tensors_[kResult]);
    return status;
  }

  void Rearrange(const CopyMap& map, const float* from, float* to) {
    RunStridedCopy(launch_, sizeof(float), map, to, from);
  }

  // Memory for every way; those that need more than there is are left out. Null: there is none for any.
  std::shared_ptr<void> BorrowScratch() {
    const auto bytes_of = [&](const Way& way) { return ScratchOf(spec_, way).layout.bytes(); };
    std::vector<Way> ways = plan_.ways;
    while (!ways.empty()) {
      const int64_t most = bytes_of(*std::ranges::max_element(ways, {}, bytes_of));
      try {
        std::shared_ptr<void> scratch = launch_.Borrow(most);
        plan_.ways = std::move(ways);
        return scratch;
      } catch (const Error& error) {
        if (error.code() != Code::kResourceExhausted) throw;
        cudaGetLastError();
        std::erase_if(ways, [&](const Way& way) { return bytes_of(way) == most; });
      }
    }
    return nullptr;
  }

  // Tries all ways on the launch's own tensors. The results are of no use before one runs for good.
  void Measure() {
    const std::shared_ptr<void> scratch = BorrowScratch();
    if (scratch == nullptr) return;
    LaunchTimer timer(launch_);
    AlgorithmTimes times;
    bool lacked_memory = false;
    for (const Way& way : plan_.ways) {
      cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
      times.push_back(timer.LeastNs([&] {
        status = RunWay(way, static_cast<char*>(scratch.get()));
        return status == CUDNN_STATUS_SUCCESS;
      }));
      if (!timer.works()) return;
      if (LacksMemory(status)) {
        lacked_memory = true;
        cudaGetLastError();
      } else if (!NotSupported(status)) {
        CheckCudnn(status, Direction::kName);
      }
    }
    plan_.quickest = QuickestOf(times);
    // Another time there may be memory; and without any the launch says so.
    if (lacked_memory) return;
    KeepAlgorithmTimes(plan_.key, NamesOf(plan_), times);
    if (!plan_.quickest.has_value()) plan_.ways.clear();
  }

  Launch& launch_;
  const ConvSpec& spec_;
  const ConvPointers tensors_;
  const cudnnHandle_t cudnn_;
  Plan& plan_;
};

template <typename Direction>
bool Convolve(Launch& launch, const ConvSpec& spec, const float* images, const float* filter,
              const float* out) {
  if (!Expressible(spec)) return false;
  const ConvPointers tensors = {const_cast<float*>(images), const_cast<float*>(filter),
                                const_cast<float*>(out)};
  return Convolution<Direction>(launch, spec, tensors).Run();
}

}  // namespace

bool CudnnConvolution(Launch& launch, const ConvSpec& spec, const float* images, const float* filter,
                      float* out) {
  return Convolve<Forward>(launch, spec, images, filter, out);
}

bool CudnnInputGrad(Launch& launch, const ConvSpec& spec, const float* filter, const float* dy, float* dx) {
  return Convolve<InputGrad>(launch, spec, dx, filter, dy);
}

bool CudnnFilterGrad(Launch& launch, const ConvSpec& spec, const float* images, const float* dy,
                     float* dfilter) {
  return Convolve<FilterGrad>(launch, spec, images, dfilter, dy);
}

}  // namespace lanescope::exec::cuda
