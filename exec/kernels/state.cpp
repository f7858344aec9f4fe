// SPDX-License-Identifier: Apache-2.0
// Variables on host memory: what replaces, counts and forgets them.
#include <atomic>

#include "exec/kernels/row_arithmetic.h"
#include "exec/kernels/state_kernels.h"
#include "exec/kernels/variable_plan.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kUpdateGrain = 1 << 15;

void ComputeIsInitialized(KernelContext& context) {
  ShapeOutput(context, 0, Shape{});
  *context.output().as<bool>() = context.variable(0).initialized;
}

class DestroyKernel : public Kernel {
 public:
  explicit DestroyKernel(const Node& node) : ignore_missing_(node.BoolAttr("ignore_lookup_error", true)) {}

  // The memory stays: the schedule owns it. The variable must be assigned again before its next use.
  void Compute(KernelContext& context) override {
    Variable& variable = context.variable(0);
    if (!variable.initialized && !ignore_missing_) {
      Throw(Code::kNotFound, "the resource to destroy does not exist; was its variable initialized?");
    }
    variable.initialized = false;
  }

 private:
  bool ignore_missing_;
};

void AssignValue(KernelContext& context, const Assignment& plan) {
  CopyElements(plan.value.dtype, plan.variable.tensor.data, plan.value.data, plan.value.NumElements(),
               context.team());
  plan.variable.initialized = true;
}

void CombineValue(KernelContext& context, const CombinedAssignment& plan) {
  DispatchNumber("AssignAdd", plan.variable.dtype, [&](auto tag) {
    using T = decltype(tag);
    const RowUpdate<T> update(plan.subtract ? Combine::kSub : Combine::kAdd);
    context.team().ParallelFor(plan.variable.NumElements(), kUpdateGrain, [&](int64_t begin, int64_t end) {
      update(end - begin, plan.variable.as<T>() + begin, plan.value.as<T>() + begin);
    });
  });
}

class CountUpToKernel : public Kernel {
 public:
  explicit CountUpToKernel(const Node& node) : limit_(node.IntAttr("limit")) {}

  // Yields the old value and adds one; OutOfRange once the limit is reached.
  void Compute(KernelContext& context) override {
    const TensorRef& variable = context.variable(0).tensor;
    if (variable.shape.rank() != 0) {
      Throw(Code::kInvalidArgument, "input is not a scalar: {}", variable.shape.ToString());
    }
    DispatchIndex("CountUpTo", variable.dtype, [&](auto tag) {
      using T = decltype(tag);
      // Steps that run at the same time count together.
      const std::atomic_ref<T> counter(*variable.as<T>());
      T value = counter.load();
      do {
        if (value >= limit_) Throw(Code::kOutOfRange, "Reached limit of {}", limit_);
      } while (!counter.compare_exchange_weak(value, static_cast<T>(value + 1)));
      ShapeOutput(context, 0, Shape{});
      *context.output().as<T>() = value;
    });
  }

 private:
  int64_t limit_;
};

}  // namespace

void RegisterVariableKernels(KernelRegistry& registry) {
  RegisterAssignOps<AssignValue, CombineValue>(registry);
  registry.Register("IsVariableInitialized", MakeFunctionKernel<ComputeIsInitialized>);
  registry.Register("VarIsInitializedOp", MakeFunctionKernel<ComputeIsInitialized>);
  registry.Register("DestroyResourceOp", MakeKernel<DestroyKernel>);
  registry.Register("CountUpTo", MakeKernel<CountUpToKernel>);
}

void RegisterStateKernels(KernelRegistry& registry) {
  RegisterVariableKernels(registry);
  RegisterScatterUpdateKernels(registry);
  RegisterOptimizerKernels(registry);
}

}  // namespace lanescope::exec
