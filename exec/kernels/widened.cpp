// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/widened.h"

#include <algorithm>
#include <deque>
#include <iterator>

#include "core/graph/op.h"
#include "exec/kernels/element_wise_ops.h"
#include "exec/kernels/scratch.h"
#include "exec/kernels/small_floats.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kAtATime = 16384;

// Beside element-wise ops and the steps of optimizers. What only moves elements takes them as they are.
constexpr std::string_view kOthers[] = {"AddN",
                                        "AccumulateNV2",
                                        "ClipByValue",
                                        "LeakyRelu",
                                        "LeakyReluGrad",
                                        "Sum",
                                        "Mean",
                                        "Prod",
                                        "Max",
                                        "Min",
                                        "EuclideanNorm",
                                        "L2Loss",
                                        "ArgMax",
                                        "ArgMin",
                                        "Cumsum",
                                        "Cumprod",
                                        "Softmax",
                                        "LogSoftmax",
                                        "SoftmaxCrossEntropyWithLogits",
                                        "SparseSoftmaxCrossEntropyWithLogits",
                                        "BiasAdd",
                                        "BiasAddV1",
                                        "BiasAddGrad",
                                        "Conv2D",
                                        "Conv2DBackpropInput",
                                        "Conv2DBackpropFilter",
                                        "DepthwiseConv2dNative",
                                        "DepthwiseConv2dNativeBackpropInput",
                                        "DepthwiseConv2dNativeBackpropFilter",
                                        "MaxPool",
                                        "MaxPoolGrad",
                                        "MaxPoolGradGrad",
                                        "AvgPool",
                                        "AvgPoolGrad",
                                        "LRN",
                                        "LRNGrad",
                                        "FusedBatchNormV2",
                                        "FusedBatchNormV3",
                                        "FusedBatchNormGradV2",
                                        "FusedBatchNormGradV3",
                                        "SegmentSum",
                                        "SegmentMean",
                                        "SegmentMax",
                                        "SegmentMin",
                                        "UnsortedSegmentSum",
                                        "UnsortedSegmentMax",
                                        "UnsortedSegmentMin",
                                        "AssignAddVariableOp",
                                        "AssignSubVariableOp"};

bool IsSmall(const AttrValue& value) {
  const auto* dtype = std::get_if<DataType>(&value);
  return dtype != nullptr && IsSmallFloat(*dtype);
}

bool ComputesInFloat(std::string_view op) {
  const auto named = [&](const auto& entry) { return entry.first == op; };
  return std::ranges::any_of(kUnaryOps, named) || std::ranges::any_of(kBinaryOps, named) ||
         std::ranges::any_of(kGradientOps, named) || std::ranges::any_of(kCompareOps, named) ||
         std::ranges::any_of(kTestOps, named) || std::ranges::find(kOthers, op) != std::end(kOthers) ||
         op.starts_with("ResourceApply") || op.starts_with("ResourceSparseApply");
}

void Widen(WorkerTeam& team, const TensorRef& from, float* to) {
  team.ParallelFor(from.NumElements(), kAtATime, [&](int64_t begin, int64_t end) {
    SmallToFloat(from.dtype, end - begin, from.as<const uint16_t>() + begin, to + begin);
  });
}

void Round(WorkerTeam& team, const float* from, const TensorRef& to) {
  team.ParallelFor(to.NumElements(), kAtATime, [&](int64_t begin, int64_t end) {
    FloatToSmall(to.dtype, end - begin, from + begin, to.as<uint16_t>() + begin);
  });
}

// The launch as a kernel of float sees it.
class WidenedContext final : public KernelContext {
 public:
  // `types`: of the inputs, by the op's signature. `growing`: for each output memory for one whose size is
  // not planned.
  WidenedContext(KernelContext& outer, const std::vector<DataType>& types,
                 std::vector<GrowingMemory>* growing)
      : outer_(outer) {
    team_ = &outer.team();
    session_seed_ = outer.session_seed();
    float* memory = ThreadScratch<WidenedContext, float>(Elements(types));
    const auto take = [&](int64_t elements) {
      float* taken = memory;
      memory += Padded(elements);
      return taken;
    };
    for (int i = 0; i < outer.num_inputs(); ++i) {
      TensorRef ref = outer.input(i);
      Variable* variable = nullptr;
      if (types[static_cast<size_t>(i)] == DataType::kResource) {
        variable = &outer.variable(i);
        if (IsSmallFloat(variable->tensor.dtype)) variable = WidenVariable(*variable, take);
      } else if (IsSmallFloat(ref.dtype)) {
        float* floats = take(ref.NumElements());
        Widen(*team_, ref, floats);
        ref = Floats(ref.shape, floats, ref.NumElements());
      }
      inputs_.push_back(std::move(ref));
      variables_.push_back(variable);
    }
    for (int i = 0; i < outer.num_outputs(); ++i) {
      TensorRef ref = outer.output(i);
      if (IsSmallFloat(ref.dtype)) {
        const int64_t room = ref.growing != nullptr ? 0 : Room(ref);
        ref = Floats(ref.shape, ref.growing != nullptr ? nullptr : take(room), room,
                     ref.growing != nullptr ? &(*growing)[static_cast<size_t>(i)] : nullptr);
      }
      outputs_.push_back(std::move(ref));
    }
  }

  // Rounds what the kernel made.
  void Finish() {
    for (int i = 0; i < num_outputs(); ++i) {
      if (!IsSmallFloat(outer_.output(i).dtype)) {
        outer_.output(i) = output(i);
        continue;
      }
      outer_.SetOutputShape(i, output(i).shape);
      Round(*team_, output(i).as<const float>(), outer_.output(i));
    }
    for (const auto& [variable, widened] : widened_) {
      Round(*team_, widened.tensor.as<const float>(), variable->tensor);
      variable->initialized = widened.initialized;
    }
  }

  Resource& FindOrCreateResource(int input,
                                 const std::function<std::unique_ptr<Resource>()>& create) override {
    return outer_.FindOrCreateResource(input, create);
  }
  const Node& handle_node(int input) const override { return outer_.handle_node(input); }
  uint64_t& random_counter() override { return outer_.random_counter(); }

 private:
  struct WidenedVariable {
    Variable* variable;
    Variable widened;
  };

  // Whole cache lines.
  static int64_t Padded(int64_t elements) { return (elements + 15) / 16 * 16; }
  static int64_t Room(const TensorRef& output) {
    return output.capacity_bytes / static_cast<int64_t>(sizeof(uint16_t));
  }
  static TensorRef Floats(const Shape& shape, float* data, int64_t room, GrowingMemory* growing = nullptr) {
    return {DataType::kFloat, shape, data, room * static_cast<int64_t>(sizeof(float)), growing};
  }

  int64_t Elements(const std::vector<DataType>& types) const {
    int64_t elements = 0;
    for (int i = 0; i < outer_.num_inputs(); ++i) {
      const TensorRef& held =
          types[static_cast<size_t>(i)] == DataType::kResource ? outer_.variable(i).tensor : outer_.input(i);
      if (IsSmallFloat(held.dtype)) elements += Padded(held.NumElements());
    }
    for (int i = 0; i < outer_.num_outputs(); ++i) {
      const TensorRef& ref = outer_.output(i);
      if (IsSmallFloat(ref.dtype) && ref.growing == nullptr) elements += Padded(Room(ref));
    }
    return elements;
  }

  template <typename Take>
  Variable* WidenVariable(Variable& variable, const Take& take) {
    const int64_t elements = variable.tensor.NumElements();
    float* floats = take(elements);
    Widen(*team_, variable.tensor, floats);
    widened_.push_back({&variable, {Floats(variable.tensor.shape, floats, elements), variable.initialized}});
    return &widened_.back().widened;
  }

  KernelContext& outer_;
  std::deque<WidenedVariable> widened_;  // whose addresses stay
};

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(std::unique_ptr<Kernel> kernel, std::vector<DataType> types)
      : kernel_(std::move(kernel)), types_(std::move(types)) {}

  void Compute(KernelContext& context) override {
    // Blocks of a fused launch are in here at the same time; none of their outputs grows.
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (context.output(i).growing != nullptr) growing_.resize(static_cast<size_t>(context.num_outputs()));
    }
    WidenedContext widened(context, types_, &growing_);
    kernel_->Compute(widened);
    widened.Finish();
  }

 private:
  const std::unique_ptr<Kernel> kernel_;
  const std::vector<DataType> types_;  // of the inputs
  std::vector<GrowingMemory> growing_;
};

}  // namespace

bool IsWidened(const Node& node) {
  return ComputesInFloat(node.op) &&
         std::ranges::any_of(node.attrs, [](const auto& attr) { return IsSmall(attr.second); });
}

std::unique_ptr<Kernel> MakeWidened(const Node& node, const KernelRegistry& kernels) {
  Node widened = node;
  for (auto& [name, value] : widened.attrs)
    if (IsSmall(value)) value = DataType::kFloat;
  return std::make_unique<WidenedKernel>(kernels.Create(widened), InputTypes(node));
}

}  // namespace lanescope::exec
