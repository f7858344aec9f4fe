// SPDX-License-Identifier: Apache-2.0
// Ops whose output holds the elements of one tensor in their order, under the same or another shape, for
// every kind of device.
#pragma once

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// All elements of a tensor to an output, byte by byte.
struct WholeCopy {
  const TensorRef* from;
  int output = 0;
};

WholeCopy PlanReshape(KernelContext& context);
WholeCopy PlanExpandDims(KernelContext& context);
WholeCopy PlanBitcast(KernelContext& context);
WholeCopy PlanReadVariable(KernelContext& context);
// Input i to output i.
WholeCopy PlanIdentity(KernelContext& context, int i);

class SqueezeOp {
 public:
  explicit SqueezeOp(const Node& node);
  WholeCopy Plan(KernelContext& context) const;

 private:
  std::vector<int64_t> axes_;
};

// Which numbers of a tensor are not finite.
struct NotFinite {
  bool nan = false, above = false, below = false;  // below: minus infinity
};

// A device looks for what is not finite, and asks for the copy after it.
class CheckNumericsOp {
 public:
  explicit CheckNumericsOp(const Node& node)
      : message_(node.StringAttr("message", "")), tells_signs_(node.op == "CheckNumericsV2") {}
  // Throws InvalidArgument where there is any.
  WholeCopy Plan(KernelContext& context, const NotFinite& found) const;

 private:
  std::string message_;
  bool tells_signs_;
};

template <auto copy>
void CopyInputs(KernelContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) copy(context, PlanIdentity(context, i));
}

template <void (*copy)(KernelContext&, const WholeCopy&)>
void RegisterViewOps(KernelRegistry& registry) {
  for (const char* op : {"Identity", "Snapshot", "StopGradient", "PreventGradient", "PlaceholderWithDefault",
                         "RefIdentity", "DebugGradientIdentity", "IdentityN"}) {
    registry.Register(op, MakeFunctionKernel<CopyInputs<copy>>);
  }
  for (const char* op : {"NoOp", "ControlTrigger"}) registry.Register(op, MakeFunctionKernel<DoNothing>);
  RegisterOp<PlanReshape, copy>(registry, "Reshape");
  RegisterOp<PlanExpandDims, copy>(registry, "ExpandDims");
  RegisterOp<SqueezeOp, copy>(registry, "Squeeze");
  RegisterOp<PlanBitcast, copy>(registry, "Bitcast");
  RegisterOp<PlanReadVariable, copy>(registry, "ReadVariableOp");
}

}  // namespace lanescope::exec
