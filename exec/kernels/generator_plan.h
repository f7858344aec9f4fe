// SPDX-License-Identifier: Apache-2.0
// Tensors made from a few numbers, for every kind of device. Numbers of the plans are in host memory unless
// said.
#pragma once

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// The one element that fills output 0, in the memory of the device.
const TensorRef& PlanFill(KernelContext& context);

// start, start + delta, ... of `size` elements.
template <typename T>
struct RangePlan {
  T start, delta;
  int64_t size;
};
// T: float, double, int32 or int64.
template <typename T>
RangePlan<T> PlanRange(KernelContext& context);

// indices [prefix, suffix] to [prefix, depth, suffix].
struct OneHotPlan {
  int64_t prefix, depth, suffix;
};
class OneHotOp {
 public:
  explicit OneHotOp(const Node& node) : axis_(node.IntAttr("axis", -1)) {}
  OneHotPlan Plan(KernelContext& context) const;

 private:
  int64_t axis_;
};

// How many elements the diagonal has: of input 0, or of the output.
int64_t PlanDiag(KernelContext& context);
int64_t PlanDiagPart(KernelContext& context);

// The diagonals from `lower` below to `upper` above the main one stay; the others become zeros.
struct MatrixBand {
  int64_t rows, columns, lower, upper;
};
// The inputs are matrices, num_lower and num_upper, where a negative number keeps all.
MatrixBand PlanMatrixBand(KernelContext& context);

// Calls fn(1) in the type of `dtype`.
template <typename Fn>
void WithOne(DataType dtype, const Fn& fn) {
  if (dtype == DataType::kBool) return fn(true);
  if (dtype == DataType::kUint8) return fn(uint8_t{1});
  DispatchNumber("OnesLike", dtype, [&](auto tag) { fn(static_cast<decltype(tag)>(1)); });
}

// Bodies: static functions of these names.
template <typename Device>
void RegisterGeneratorOps(KernelRegistry& registry) {
  RegisterOp<PlanFill, Device::Fill>(registry, "Fill");
  registry.Register("Range", MakeFunctionKernel<Device::Range>);
  RegisterOp<OneHotOp, Device::OneHot>(registry, "OneHot");
  RegisterOp<PlanDiag, Device::Diag>(registry, "Diag");
  RegisterOp<PlanDiagPart, Device::DiagPart>(registry, "DiagPart");
  RegisterOp<PlanMatrixBand, Device::Band>(registry, "MatrixBandPart");
}

}  // namespace lanescope::exec
