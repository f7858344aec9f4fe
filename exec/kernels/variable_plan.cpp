// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/variable_plan.h"

namespace lanescope::exec {
namespace {

void CheckType(const TensorRef& variable, const TensorRef& value) {
  if (variable.dtype == value.dtype) return;
  Throw(Code::kInvalidArgument, "Trying to assign variable with wrong dtype. Expected {} got {}",
        DataTypeName(variable.dtype), DataTypeName(value.dtype));
}

}  // namespace

Assignment AssignOp::Plan(KernelContext& context) const {
  Variable& variable = context.variable(0);
  TensorRef& tensor = variable.tensor;
  const TensorRef& value = context.input(1);
  CheckType(tensor, value);
  if (!any_shape_ && tensor.shape.IsExact() && !(tensor.shape == value.shape)) {
    Throw(Code::kInvalidArgument,
          "Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
          tensor.shape.ToString(), value.shape.ToString());
  }
  if (value.NumElements() > tensor.capacity_bytes / StepBytes(value.dtype)) {
    Throw(Code::kResourceExhausted, "a value of shape {} does not fit the variable's memory of {} bytes",
          value.shape.ToString(), tensor.capacity_bytes);
  }
  tensor.shape = value.shape;
  return {variable, value};
}

CombinedAssignment CombinedAssignOp::Plan(KernelContext& context) const {
  const TensorRef& variable = context.variable(0).tensor;
  const TensorRef& value = context.input(1);
  CheckType(variable, value);
  if (!(variable.shape == value.shape)) {
    Throw(Code::kInvalidArgument,
          "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
          variable.shape.ToString(), value.shape.ToString());
  }
  return {subtract_, variable, value};
}

}  // namespace lanescope::exec
