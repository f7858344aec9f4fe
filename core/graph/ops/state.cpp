// SPDX-License-Identifier: Apache-2.0
// Variables by reference and by handle, assignments and scatter updates.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"
#include "core/graph/ops/shape_rules.h"

namespace lanescope::ops {
namespace {

void InferVariable(InferenceContext& context) { context.SetShape(0, context.node().GetShapeAttr("shape")); }

// The reference keeps the variable's shape, unless the node says that it may change.
void InferAssign(InferenceContext& context) {
  const bool validate = context.node().BoolAttr("validate_shape", true);
  context.SetShape(0, validate ? MergeShapes(context.shape(0), context.shape(1)) : context.shape(1));
}

void InferAssignUpdate(InferenceContext& context) {
  context.SetShape(0, MergeShapes(context.shape(0), context.shape(1)));
}

void InferScatter(InferenceContext& context) {
  CheckRowUpdates(context.shape(0), context.shape(1), context.shape(2));
  SameShape(context);
}

void InferScatterAt(InferenceContext& context) {
  CheckUpdates(context.shape(1), context.shape(2), context.shape(0));
  SameShape(context);
}

// Reads and writes the rows that the updates touch.
OpWork ScatterUpdateCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo>) {
  return {CountOf(inputs[2]), BytesOf(inputs[1]) + 3 * BytesOf(inputs[2])};
}

// Reads the value, writes the variable.
OpWork AssignCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo>) {
  return {0, 2 * BytesOf(inputs[1])};
}

// Reads value and variable, writes the variable.
OpWork AssignUpdateCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo>) {
  return {CountOf(inputs[1]), 3 * BytesOf(inputs[1])};
}

void InferVarHandle(InferenceContext& context) {
  TensorInfo variable;
  variable.dtype = context.node().TypeAttr("dtype");
  variable.shape = context.node().GetShapeAttr("shape");
  context.SetShape(0, Shape{});
  context.output().handle = std::make_shared<const TensorInfo>(std::move(variable));
}

// The shape of the variable behind handle input 0; throws InvalidArgument where its dtype is not `dtype`.
Shape VariableShape(const InferenceContext& context, DataType dtype) {
  const TensorInfo* variable = context.input(0).handle.get();
  if (variable == nullptr) return Shape::Unknown();
  if (variable->dtype != dtype) {
    Throw(Code::kInvalidArgument, "the variable has dtype {}, not {}", DataTypeName(variable->dtype),
          DataTypeName(dtype));
  }
  return variable->shape;
}

void InferReadVariable(InferenceContext& context) {
  context.SetShape(0, VariableShape(context, context.node().TypeAttr("dtype")));
}

void InferVariableShape(InferenceContext& context) {
  const TensorInfo* variable = context.input(0).handle.get();
  if (variable == nullptr || !variable->shape.known_rank()) return context.SetShape(0, UnknownOfRank(1));
  Elements elements;
  for (const Dim dim : variable->shape.dims()) elements.push_back(RangeOfDim(dim));
  SetElements(context, 0, {variable->shape.rank()}, elements);
}

void InferAssignVariable(InferenceContext& context) {
  const bool validate =
      context.node().BoolAttr("validate_shape", false) || context.node().op != "AssignVariableOp";
  const Shape variable = VariableShape(context, context.node().TypeAttr("dtype"));
  if (validate) MergeShapes(variable, context.shape(1));
}

void InferResourceGather(InferenceContext& context) {
  const Shape variable = VariableShape(context, context.node().TypeAttr("dtype"));
  const Shape& indices = context.shape(1);
  if (variable.known_rank() && indices.known_rank())
    context.SetShape(0, GatherRows(variable, indices, context.node().IntAttr("batch_dims", 0)).result);
}

void InferResourceGatherNd(InferenceContext& context) {
  const Shape variable = VariableShape(context, context.node().TypeAttr("dtype"));
  context.SetShape(0, PickedShape("indices", context.shape(1), variable));
}

// Reads the rows that it takes.
OpWork ResourceGatherCost(const Node&, std::span<const TensorInfo> inputs,
                          std::span<const TensorInfo> outputs) {
  return {0, BytesOf(inputs[1]) + 2 * BytesOf(outputs[0])};
}

void InferResourceScatter(InferenceContext& context) {
  CheckRowUpdates(VariableShape(context, context.node().TypeAttr("dtype")), context.shape(1),
                  context.shape(2));
}

// Reads the variable behind the handle.
OpWork ReadVariableCost(const Node&, std::span<const TensorInfo>, std::span<const TensorInfo> outputs) {
  return {0, 2 * BytesOf(outputs[0])};
}

}  // namespace

void RegisterStateOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("VariableV2() -> (ref: Ref(dtype))",
     "shape: shape; dtype: type; container: string = ''; shared_name: string = ''")
      .Infer(InferVariable)
      .Role(StateRole::kVariable)
      .Work(NoWork)
      .Stateful();
  op("Variable() -> (ref: Ref(dtype))",
     "shape: shape; dtype: type; container: string = ''; shared_name: string = ''")
      .Infer(InferVariable)
      .Role(StateRole::kVariable)
      .Work(NoWork)
      .Stateful();
  op("IsVariableInitialized(ref: Ref(dtype)) -> (is_initialized: bool)", "dtype: type")
      .Infer(ScalarOutput)
      .Work(NoWork);
  op("Assign(ref: Ref(T), value: T) -> (output_ref: Ref(T))",
     "T: type; validate_shape: bool = true; use_locking: bool = true")
      .Infer(InferAssign)
      .Updates({0})
      .Work(AssignCost);
  op("AssignAdd(ref: Ref(T), value: T) -> (output_ref: Ref(T))", "T: number; use_locking: bool = false")
      .Infer(InferAssignUpdate)
      .Updates({0})
      .Work(AssignUpdateCost);
  op("AssignSub(ref: Ref(T), value: T) -> (output_ref: Ref(T))", "T: number; use_locking: bool = false")
      .Infer(InferAssignUpdate)
      .Updates({0})
      .Work(AssignUpdateCost);
  op("ScatterUpdate(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: type; Tindices: index; use_locking: bool = true")
      .Infer(InferScatter)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterAdd(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: number; Tindices: index; use_locking: bool = false")
      .Infer(InferScatter)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterSub(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: number; Tindices: index; use_locking: bool = false")
      .Infer(InferScatter)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterMul(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: number; Tindices: index; use_locking: bool = false")
      .Infer(InferScatter)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterDiv(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: number; Tindices: index; use_locking: bool = false")
      .Infer(InferScatter)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterMin(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: {floating, index}; Tindices: index; use_locking: bool = false")
      .Infer(InferScatter)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterMax(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: {floating, index}; Tindices: index; use_locking: bool = false")
      .Infer(InferScatter)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterNdUpdate(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: type; Tindices: index; use_locking: bool = true")
      .Infer(InferScatterAt)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterNdAdd(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: number; Tindices: index; use_locking: bool = false")
      .Infer(InferScatterAt)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("ScatterNdSub(ref: Ref(T), indices: Tindices, updates: T) -> (output_ref: Ref(T))",
     "T: number; Tindices: index; use_locking: bool = false")
      .Infer(InferScatterAt)
      .Updates({0})
      .Work(ScatterUpdateCost);
  op("CountUpTo(ref: Ref(T)) -> (output: T)", "limit: int; T: index").Infer(SameShape).Updates({0});
  op("VarHandleOp() -> (resource: resource)",
     "container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; shape: shape; "
     "allowed_devices: list(string) = []")
      .Infer(InferVarHandle)
      .Role(StateRole::kVariable)
      .Work(NoWork)
      .Stateful();
  op("ReadVariableOp(resource: resource) -> (value: dtype)", "dtype: type")
      .Infer(InferReadVariable)
      .Role(StateRole::kRead)
      .Work(ReadVariableCost)
      .Stateful();
  op("VariableShape(input: resource) -> (output: out_type)", "out_type: index = int32")
      .Infer(InferVariableShape)
      .Work(NoWork)
      .Stateful();
  op("VarIsInitializedOp(resource: resource) -> (is_initialized: bool)")
      .Infer(ScalarOutput)
      .Work(NoWork)
      .Stateful();
  op("DestroyResourceOp(resource: resource) -> ()", "ignore_lookup_error: bool = true")
      .HostOnly()
      .Work(NoWork)
      .Stateful();
  op("AssignVariableOp(resource: resource, value: dtype) -> ()", "dtype: type; validate_shape: bool = false")
      .Infer(InferAssignVariable)
      .Updates({0})
      .Work(AssignCost)
      .Stateful();
  op("AssignAddVariableOp(resource: resource, value: dtype) -> ()", "dtype: type")
      .Infer(InferAssignVariable)
      .Updates({0})
      .Work(AssignUpdateCost)
      .Stateful();
  op("AssignSubVariableOp(resource: resource, value: dtype) -> ()", "dtype: type")
      .Infer(InferAssignVariable)
      .Updates({0})
      .Work(AssignUpdateCost)
      .Stateful();
  op("ResourceGather(resource: resource, indices: Tindices) -> (output: dtype)",
     "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: index")
      .Infer(InferResourceGather)
      .Role(StateRole::kRead)
      .Work(ResourceGatherCost)
      .Stateful();
  op("ResourceGatherNd(resource: resource, indices: Tindices) -> (output: dtype)",
     "dtype: type; Tindices: index")
      .Infer(InferResourceGatherNd)
      .Role(StateRole::kRead)
      .Work(ResourceGatherCost)
      .Stateful();
  op("ResourceScatterUpdate(resource: resource, indices: Tindices, updates: dtype) -> ()",
     "dtype: type; Tindices: index")
      .Infer(InferResourceScatter)
      .Updates({0})
      .Work(ScatterUpdateCost)
      .Stateful();
  op("ResourceScatterAdd(resource: resource, indices: Tindices, updates: dtype) -> ()",
     "dtype: number; Tindices: index")
      .Infer(InferResourceScatter)
      .Updates({0})
      .Work(ScatterUpdateCost)
      .Stateful();
  op("ResourceScatterSub(resource: resource, indices: Tindices, updates: dtype) -> ()",
     "dtype: number; Tindices: index")
      .Infer(InferResourceScatter)
      .Updates({0})
      .Work(ScatterUpdateCost)
      .Stateful();
  op("ResourceScatterMul(resource: resource, indices: Tindices, updates: dtype) -> ()",
     "dtype: number; Tindices: index")
      .Infer(InferResourceScatter)
      .Updates({0})
      .Work(ScatterUpdateCost)
      .Stateful();
  op("ResourceScatterDiv(resource: resource, indices: Tindices, updates: dtype) -> ()",
     "dtype: number; Tindices: index")
      .Infer(InferResourceScatter)
      .Updates({0})
      .Work(ScatterUpdateCost)
      .Stateful();
  op("ResourceScatterMin(resource: resource, indices: Tindices, updates: dtype) -> ()",
     "dtype: number; Tindices: index")
      .Infer(InferResourceScatter)
      .Updates({0})
      .Work(ScatterUpdateCost)
      .Stateful();
  op("ResourceScatterMax(resource: resource, indices: Tindices, updates: dtype) -> ()",
     "dtype: number; Tindices: index")
      .Infer(InferResourceScatter)
      .Updates({0})
      .Work(ScatterUpdateCost)
      .Stateful();
}

}  // namespace lanescope::ops
