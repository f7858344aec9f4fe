// SPDX-License-Identifier: Apache-2.0
// Constants, placeholders, identities and ops without data.
#include "core/base/error.h"
#include "core/graph/ops/common.h"
#include "core/graph/ops/op_spec.h"

namespace lanescope::ops {
namespace {

// The value is shared with the attribute, not copied.
void InferConst(InferenceContext& context) {
  const AttrValue* attr = context.node().FindAttr("value");
  const auto* tensor = attr == nullptr ? nullptr : std::get_if<std::shared_ptr<const TensorAttr>>(attr);
  if (tensor == nullptr || *tensor == nullptr)
    Throw(Code::kInvalidArgument, "no tensor in attribute 'value'");
  const Tensor& value = (*tensor)->value;
  if (!value.valid()) return;  // a type without elements here
  if (value.dtype() != context.output().dtype) {
    Throw(Code::kInvalidArgument, "attribute 'value' has dtype {}, 'dtype' says {}",
          DataTypeName(value.dtype()), DataTypeName(context.output().dtype));
  }
  context.SetShape(0, value.shape());
  context.output().value = std::shared_ptr<const Tensor>(*tensor, &value);
}

void InferPlaceholder(InferenceContext& context) {
  const Node& node = context.node();
  if (node.FindAttr("shape") != nullptr) context.SetShape(0, node.GetShapeAttr("shape"));
  // Only a handle that a function is given has these attributes.
  if (context.output().dtype != DataType::kResource || node.FindAttr("_handle_dtypes") == nullptr) return;
  const auto* shapes = std::get_if<std::vector<ShapeAttr>>(node.FindAttr("_handle_shapes"));
  const std::vector<DataType>& types = node.TypeListAttr("_handle_dtypes");
  if (shapes == nullptr || shapes->size() != 1 || types.size() != 1) return;
  TensorInfo variable;
  variable.dtype = types[0];
  variable.shape = (*shapes)[0].shape;
  context.output().handle = std::make_shared<const TensorInfo>(std::move(variable));
}

// The value may be fed: the shape is at least as open as the attribute says, and the value is not
// known.
void InferPlaceholderWithDefault(InferenceContext& context) {
  const Shape& declared = context.node().GetShapeAttr("shape");
  MergeShapes(declared, context.shape(0));
  PassThrough(context);
}

// Copies.
OpWork IdentityCost(const Node&, std::span<const TensorInfo> inputs, std::span<const TensorInfo> outputs) {
  return {0, TotalBytes(inputs, outputs)};
}

}  // namespace

void RegisterControlOps(OpRegistry& registry) {
  const OpLister op(registry);
  op("NoOp() -> ()").Work(NoWork);
  op("ControlTrigger() -> ()").Work(NoWork);
  op("Const() -> (output: dtype)", "value: tensor; dtype: type").Infer(InferConst).Work(NoWork);
  op("Placeholder() -> (output: dtype)", "dtype: type; shape: shape = ?")
      .Infer(InferPlaceholder)
      .Work(NoWork);
  op("PlaceholderV2() -> (output: dtype)", "dtype: type; shape: shape").Infer(InferPlaceholder).Work(NoWork);
  op("PlaceholderWithDefault(input: dtype) -> (output: dtype)", "dtype: type; shape: shape")
      .Infer(InferPlaceholderWithDefault)
      .AliasesInput0()
      .Work(NoWork);
  op("Identity(input: T) -> (output: T)", "T: type").Infer(PassThrough).AliasesInput0().Work(NoWork);
  op("RefIdentity(input: Ref(T)) -> (output: Ref(T))", "T: type")
      .Infer(PassThrough)
      .AliasesInput0()
      .Work(NoWork);
  op("IdentityN(input: T) -> (output: T)", "T: list(type) >= 1").Infer(PassThrough).Work(IdentityCost);
  op("StopGradient(input: T) -> (output: T)", "T: type").Infer(PassThrough).AliasesInput0().Work(NoWork);
  op("PreventGradient(input: T) -> (output: T)", "T: type; message: string = ''")
      .Infer(PassThrough)
      .AliasesInput0()
      .Work(NoWork);
  op("Snapshot(input: T) -> (output: T)", "T: type").Infer(PassThrough).AliasesInput0().Work(NoWork);
  op("DebugGradientIdentity(input: T) -> (output: T)", "T: type")
      .Infer(PassThrough)
      .AliasesInput0()
      .Work(NoWork);
  op("CheckNumerics(tensor: T) -> (output: T)", "T: floating; message: string")
      .Infer(PassThrough)
      .InPlace()
      .Stateful();
  op("CheckNumericsV2(tensor: T) -> (output: T)", "T: floating; message: string")
      .Infer(PassThrough)
      .InPlace()
      .Stateful();
  op("Assert(condition: bool, data: T) -> ()", "T: list(type) >= 1; summarize: int = 3")
      .HostOnly()
      .Stateful();
}

}  // namespace lanescope::ops
