// Variables: what declares, reads and replaces them. Outputs that are references or handles need no work: the
// session knows the variable behind them.
#include "exec/kernels/row_arithmetic.h"
#include "exec/kernels/state_kernels.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kUpdateGrain = 1 << 15;

void ComputeHandle(KernelContext&) {}

void ComputeRead(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  ShapeOutput(context, 0, variable.shape);
  CopyElements(variable.dtype, context.output().data, variable.data, variable.NumElements(), context.team());
}

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

void CheckType(const Variable& variable, const TensorRef& value) {
  if (variable.tensor.dtype != value.dtype) {
    Throw(Code::kInvalidArgument, "Trying to assign variable with wrong dtype. Expected {} got {}",
          DataTypeName(variable.tensor.dtype), DataTypeName(value.dtype));
  }
}

void Replace(KernelContext& context, bool any_shape) {
  Variable& variable = context.variable(0);
  const TensorRef& value = context.input(1);
  CheckType(variable, value);
  if (!any_shape && variable.tensor.shape.IsExact() && !(variable.tensor.shape == value.shape)) {
    Throw(Code::kInvalidArgument,
          "Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
          variable.tensor.shape.ToString(), value.shape.ToString());
  }
  if (value.NumElements() > variable.tensor.capacity_bytes / StepBytes(value.dtype)) {
    Throw(Code::kResourceExhausted, "a value of shape {} does not fit the variable's memory of {} bytes",
          value.shape.ToString(), variable.tensor.capacity_bytes);
  }
  variable.tensor.shape = value.shape;
  // The value may have been written into the variable by its producer already.
  if (value.data != variable.tensor.data) {
    CopyElements(value.dtype, variable.tensor.data, value.data, value.NumElements(), context.team());
  }
  variable.initialized = true;
}

class AssignKernel : public Kernel {
 public:
  explicit AssignKernel(const Node& node)
      : any_shape_(!node.BoolAttr("validate_shape", node.op == "Assign")) {}

  void Compute(KernelContext& context) override { Replace(context, any_shape_); }

 private:
  // A handle's variable checks its shape where it is declared; `validate_shape` only adds to that.
  bool any_shape_;
};

template <Combine how>
void ComputeAssignCombined(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& value = context.input(1);
  CheckType(context.variable(0), value);
  if (!(variable.shape == value.shape)) {
    Throw(Code::kInvalidArgument,
          "Cannot update variable with shape {} using a Tensor with shape {}, shapes "
          "must be equal.",
          variable.shape.ToString(), value.shape.ToString());
  }
  DispatchNumber("AssignAdd", variable.dtype, [&](auto tag) {
    using T = decltype(tag);
    const RowUpdate<T> update(how);
    context.team().ParallelFor(variable.NumElements(), kUpdateGrain, [&](int64_t begin, int64_t end) {
      update(end - begin, variable.as<T>() + begin, value.as<T>() + begin);
    });
  });
}

class CountUpToKernel : public Kernel {
 public:
  explicit CountUpToKernel(const Node& node) : limit_(node.IntAttr("limit")) {}

  // Yields the old value and adds one; OutOfRange once the limit is reached.
  void Compute(KernelContext& context) override {
    const TensorRef& variable = context.variable(0).tensor;
    if (variable.NumElements() != 1) {
      Throw(Code::kInvalidArgument, "input is not a scalar: {}", variable.shape.ToString());
    }
    DispatchIndex("CountUpTo", variable.dtype, [&](auto tag) {
      using T = decltype(tag);
      T& value = *variable.as<T>();
      if (value >= limit_) Throw(Code::kOutOfRange, "Reached limit of {}", limit_);
      ShapeOutput(context, 0, Shape{});
      *context.output().as<T>() = value++;
    });
  }

 private:
  int64_t limit_;
};

}  // namespace

void RegisterVariableKernels(KernelRegistry& registry) {
  for (const char* op : {"Variable", "VariableV2", "VarHandleOp"}) {
    registry.Register(op, MakeFunctionKernel<ComputeHandle>);
  }
  registry.Register("ReadVariableOp", MakeFunctionKernel<ComputeRead>);
  registry.Register("IsVariableInitialized", MakeFunctionKernel<ComputeIsInitialized>);
  registry.Register("VarIsInitializedOp", MakeFunctionKernel<ComputeIsInitialized>);
  registry.Register("DestroyResourceOp", MakeKernel<DestroyKernel>);
  registry.Register("Assign", MakeKernel<AssignKernel>);
  registry.Register("AssignVariableOp", MakeKernel<AssignKernel>);
  registry.Register("AssignAdd", MakeFunctionKernel<ComputeAssignCombined<Combine::kAdd>>);
  registry.Register("AssignSub", MakeFunctionKernel<ComputeAssignCombined<Combine::kSub>>);
  registry.Register("AssignAddVariableOp", MakeFunctionKernel<ComputeAssignCombined<Combine::kAdd>>);
  registry.Register("AssignSubVariableOp", MakeFunctionKernel<ComputeAssignCombined<Combine::kSub>>);
  registry.Register("CountUpTo", MakeKernel<CountUpToKernel>);
}

void RegisterStateKernels(KernelRegistry& registry) {
  RegisterVariableKernels(registry);
  RegisterScatterUpdateKernels(registry);
  RegisterOptimizerKernels(registry);
  RegisterRegularizedOptimizerKernels(registry);
}

}  // namespace lanescope::exec
