// SPDX-License-Identifier: Apache-2.0
// Accumulators of gradients, on host memory.
#include "exec/resources/accumulator.h"

#include "exec/kernels/host_tensors.h"
#include "exec/kernels/named_handle.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/queue_attempt.h"
#include "exec/kernels/queue_kernels.h"

namespace lanescope::exec {
namespace {

using AccumulatorHandle = NamedHandle<GradientAccumulator>;

bool IsOfRows(const Node& node) { return node.op.starts_with("Sparse"); }

std::unique_ptr<Resource> MakeAccumulator(const Node& node, ResourceManager* resources) {
  AccumulatorSpec spec;
  spec.dtype = node.TypeAttr("dtype");
  spec.shape = node.GetShapeAttr("shape");
  spec.reduction =
      node.StringAttr("reduction_type", "MEAN") == "SUM" ? GradientReduction::kSum : GradientReduction::kMean;
  spec.rows = IsOfRows(node);
  const ResourceName name = NameOfResource(node);
  auto accumulator = resources->LookupOrCreate<GradientAccumulator>(
      name.container, name.name, [&] { return std::make_shared<GradientAccumulator>(node.name, spec); });
  if (!(accumulator->spec() == spec)) {
    Throw(Code::kInvalidArgument, "Shared accumulator '{}' is declared otherwise by '{}'", name.name,
          node.name);
  }
  return std::make_unique<AccumulatorHandle>(resources, name, std::move(accumulator));
}

enum class Adds { kTensors, kRows, kAny };

// The accumulator behind input 0; made, or found by its shared name, by whoever meets it first.
std::shared_ptr<GradientAccumulator> AccumulatorOf(KernelContext& context, Adds adds = Adds::kAny) {
  const Node& node = context.handle_node(0);
  const bool fits = adds == Adds::kAny || (adds == Adds::kRows) == IsOfRows(node);
  if (!node.op.ends_with("ConditionalAccumulator") || !fits) {
    Throw(Code::kInvalidArgument, "'{}' ({}) is no accumulator{}", node.name, node.op,
          adds == Adds::kRows ? " of rows" : "");
  }
  Resource& resource =
      context.FindOrCreateResource(0, [&] { return MakeAccumulator(node, &context.resources()); });
  auto* handle = dynamic_cast<AccumulatorHandle*>(&resource);
  LANESCOPE_CHECK(handle != nullptr);
  return handle->resource();
}

void ApplyGradient(KernelContext& context) {
  GradientParts gradient;
  gradient.push_back(CopyOf(context.input(2)));
  AccumulatorOf(context, Adds::kTensors)->Apply(ScalarOf<int64_t>(context.input(1), "local_step"), gradient);
}

class ApplyRowsKernel final : public Kernel {
 public:
  explicit ApplyRowsKernel(const Node& node) : knows_shape_(node.BoolAttr("has_known_shape", true)) {}

  void Compute(KernelContext& context) override {
    GradientParts gradient;
    for (const int part : {2, 3, 4}) gradient.push_back(CopyOf(context.input(part)));
    if (!knows_shape_) gradient[2] = Tensor(DataType::kInt64, Shape{0});
    AccumulatorOf(context, Adds::kRows)->Apply(ScalarOf<int64_t>(context.input(1), "local_step"), gradient);
  }

 private:
  const bool knows_shape_;
};

void CountGradients(KernelContext& context) {
  ShapeOutput(context, 0, Shape{});
  *context.output().as<int32_t>() = static_cast<int32_t>(AccumulatorOf(context)->state().count);
}

void SetGlobalStep(KernelContext& context) {
  AccumulatorOf(context)->SetGlobalStep(ScalarOf<int64_t>(context.input(1), "new_global_step"));
}

class TakeGradientKernel final : public WaitingKernel {
 public:
  explicit TakeGradientKernel(const Node& node)
      : adds_(node.op.starts_with("Sparse") ? Adds::kRows : Adds::kTensors) {}

  bool Advance(KernelContext& context, const std::function<void()>& resume) override {
    if (!attempt_.in_progress()) {
      const std::shared_ptr<GradientAccumulator> accumulator = AccumulatorOf(context, adds_);
      title_ = fmt::format("accumulator '{}'", accumulator->name());
      const auto submit = [&] {
        return accumulator->Take(ScalarOf<int32_t>(context.input(1), "num_required"),
                                 [this](const Error* error, GradientParts average) {
                                   attempt_.Finish(error, std::move(average));
                                 });
      };
      if (!attempt_.Begin(accumulator, resume, submit)) return false;
    }
    const GradientParts average = attempt_.Take();
    for (size_t i = 0; i < average.size(); ++i) WriteOutput(context, static_cast<int>(i), average[i]);
    return true;
  }
  void Cancel() override { attempt_.Cancel(); }
  std::string WaitsFor() const override { return title_; }

 private:
  const Adds adds_;
  QueueAttempt attempt_;
  std::string title_;
};

}  // namespace

void RegisterAccumulatorKernels(KernelRegistry& registry) {
  for (const std::string by : {"", "Resource"}) {
    // The first user of the accumulator makes it.
    registry.Register(by + "ConditionalAccumulator", MakeFunctionKernel<DoNothing>);
    registry.Register(by + "AccumulatorApplyGradient", MakeFunctionKernel<ApplyGradient>);
    registry.Register(by + "AccumulatorTakeGradient", MakeKernel<TakeGradientKernel>);
    registry.Register(by + "AccumulatorNumAccumulated", MakeFunctionKernel<CountGradients>);
    registry.Register(by + "AccumulatorSetGlobalStep", MakeFunctionKernel<SetGlobalStep>);
  }
  registry.Register("SparseConditionalAccumulator", MakeFunctionKernel<DoNothing>);
  registry.Register("SparseAccumulatorApplyGradient", MakeKernel<ApplyRowsKernel>);
  registry.Register("SparseAccumulatorTakeGradient", MakeKernel<TakeGradientKernel>);
}

}  // namespace lanescope::exec
