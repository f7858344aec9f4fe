// SPDX-License-Identifier: Apache-2.0
// Assignments to variables, for every kind of device.
#pragma once

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// The value may have been written into the variable by its producer already. The body sets
// variable.initialized.
struct Assignment {
  Variable& variable;
  const TensorRef& value;
};
class AssignOp {
 public:
  explicit AssignOp(const Node& node) : any_shape_(!node.BoolAttr("validate_shape", node.op == "Assign")) {}
  // Gives the variable the value's shape.
  Assignment Plan(KernelContext& context) const;

 private:
  // A handle's variable checks its shape where it is declared; `validate_shape` only adds to that.
  bool any_shape_;
};

// variable += value, or -=.
struct CombinedAssignment {
  bool subtract;
  const TensorRef& variable;
  const TensorRef& value;
};
class CombinedAssignOp {
 public:
  explicit CombinedAssignOp(const Node& node) : subtract_(node.op.starts_with("AssignSub")) {}
  CombinedAssignment Plan(KernelContext& context) const;

 private:
  bool subtract_;
};

template <void (*assign)(KernelContext&, const Assignment&),
          void (*combine)(KernelContext&, const CombinedAssignment&)>
void RegisterAssignOps(KernelRegistry& registry) {
  for (const char* op : {"Assign", "AssignVariableOp"}) RegisterOp<AssignOp, assign>(registry, op);
  for (const char* op : {"AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"}) {
    RegisterOp<CombinedAssignOp, combine>(registry, op);
  }
  // Outputs that are references or handles need no work: the session knows the variable behind them.
  for (const char* op : {"Variable", "VariableV2", "VarHandleOp"}) {
    registry.Register(op, MakeFunctionKernel<DoNothing>);
  }
}

}  // namespace lanescope::exec
