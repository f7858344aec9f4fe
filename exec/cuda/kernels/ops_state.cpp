// Variables: what declares, reads and replaces them, and updates of their rows.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/sparse.h"

namespace lanescope::exec::cuda {
namespace {

// Outputs that are references or handles need no work: the session knows the variable behind them.
void NoWork(KernelContext&) {}

void ReadVariable(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  ShapeOutput(context, 0, variable.shape);
  CopyBytes(LaunchOf(context), context.output().data, variable.data,
            variable.NumElements() * ElementBytes(variable.dtype));
}

void CheckType(const TensorRef& variable, const TensorRef& value) {
  if (variable.dtype == value.dtype) return;
  Throw(Code::kInvalidArgument, "Trying to assign variable with wrong dtype. Expected {} got {}",
        DataTypeName(variable.dtype), DataTypeName(value.dtype));
}

class AssignKernel final : public Kernel {
 public:
  explicit AssignKernel(const Node& node)
      : any_shape_(!node.BoolAttr("validate_shape", node.op == "Assign")) {}

  void Compute(KernelContext& context) override {
    Variable& variable = context.variable(0);
    const TensorRef& value = context.input(1);
    CheckType(variable.tensor, value);
    if (!any_shape_ && variable.tensor.shape.IsExact()) {
      RequireSameShape("the variable and its new value", variable.tensor.shape, value.shape);
    }
    const int64_t bytes = value.NumElements() * ElementBytes(value.dtype);
    if (bytes > variable.tensor.capacity_bytes) {
      Throw(Code::kResourceExhausted, "a value of shape {} does not fit the variable's memory of {} bytes",
            value.shape.ToString(), variable.tensor.capacity_bytes);
    }
    variable.tensor.shape = value.shape;
    // The value may have been written into the variable by its producer already.
    CopyBytes(LaunchOf(context), variable.tensor.data, value.data, bytes);
    variable.initialized = true;
  }

 private:
  bool any_shape_;
};

template <BinaryOp op>
void AssignCombined(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& value = context.input(1);
  CheckType(variable, value);
  RequireSameShape("a variable and its update", variable.shape, value.shape);
  RunBinary(LaunchOf(context), op, LoopTypeFor("AssignAdd", variable.dtype),
            MakeBroadcastMap<2>(variable.shape, {variable.shape, value.shape}), variable.data, value.data,
            variable.data);
}

// Updates have the shape indices.shape + variable.shape[1:], or are one number for all. Rows out of range are
// left out, as in TensorFlow on a GPU.
template <Combine how>
void Scatter(KernelContext& context) {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& indices = context.input(1);
  const TensorRef& updates = context.input(2);
  if (variable.shape.rank() < 1) {
    Throw(Code::kInvalidArgument, "params must be at least 1-D, got shape {}", variable.shape.ToString());
  }
  Shape expected = indices.shape;
  for (int d = 1; d < variable.shape.rank(); ++d) expected.Append(variable.shape[d]);
  const bool scalar = updates.shape.rank() == 0;
  if (!scalar) RequireSameShape("updates and the rows that they update", updates.shape, expected);
  const RowUpdates spec{how, variable.shape[0], indices.NumElements(),
                        SizeOfDims(variable.shape, 1, variable.shape.rank()), scalar ? 0 : 1};
  RunRowUpdates(LaunchOf(context), spec, LoopTypeFor("a scatter", variable.dtype),
                ReaderOf("a scatter", indices), updates.data, variable.data);
}

template <Combine how>
void RegisterScatter(KernelRegistry& registry, const std::string& suffix) {
  registry.Register("Scatter" + suffix, MakeFunctionKernel<Scatter<how>>);
  registry.Register("ResourceScatter" + suffix, MakeFunctionKernel<Scatter<how>>);
}

}  // namespace

void RegisterStateOps(KernelRegistry& registry) {
  for (const char* op : {"Variable", "VariableV2", "VarHandleOp"}) {
    registry.Register(op, MakeFunctionKernel<NoWork>);
  }
  // These touch no element in device memory.
  for (const char* op : {"IsVariableInitialized", "VarIsInitializedOp", "DestroyResourceOp"}) {
    registry.Register(op, MakeHostKernel);
  }
  registry.Register("ReadVariableOp", MakeFunctionKernel<ReadVariable>);
  registry.Register("Assign", MakeKernel<AssignKernel>);
  registry.Register("AssignVariableOp", MakeKernel<AssignKernel>);
  registry.Register("AssignAdd", MakeFunctionKernel<AssignCombined<BinaryOp::kAdd>>);
  registry.Register("AssignSub", MakeFunctionKernel<AssignCombined<BinaryOp::kSub>>);
  registry.Register("AssignAddVariableOp", MakeFunctionKernel<AssignCombined<BinaryOp::kAdd>>);
  registry.Register("AssignSubVariableOp", MakeFunctionKernel<AssignCombined<BinaryOp::kSub>>);
  RegisterScatter<Combine::kAssign>(registry, "Update");
  RegisterScatter<Combine::kAdd>(registry, "Add");
  RegisterScatter<Combine::kSub>(registry, "Sub");
  RegisterScatter<Combine::kMul>(registry, "Mul");
  RegisterScatter<Combine::kDiv>(registry, "Div");
  RegisterScatter<Combine::kMin>(registry, "Min");
  RegisterScatter<Combine::kMax>(registry, "Max");
}

}  // namespace lanescope::exec::cuda
