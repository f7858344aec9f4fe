// SPDX-License-Identifier: Apache-2.0
// Element-wise ops with rules of their own, for every kind of device: which shapes go together.
#pragma once

#include <array>

#include "exec/kernels/element_wise_ops.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// The broadcast shape of inputs 0 and 1, which output 0 gets.
Shape PlanPair(KernelContext& context);

// Inputs that must have one shape, which output 0 gets: gradients, AddN.
class SameShapesOp {
 public:
  explicit SameShapesOp(const Node& node) : name_(node.name), op_(node.op) {}
  Shape Plan(KernelContext& context) const;

 private:
  std::string name_, op_;
};

class CompareOpRule {
 public:
  explicit CompareOpRule(const Node& node);

  CompareOp op() const { return op_; }
  // Two tensors whose shapes do not fit are simply not equal, where the graph asks for that: the result then
  // is one value.
  bool AreUnequal(const KernelContext& context) const;

 private:
  CompareOp op_;
  bool mismatch_allowed_;
};

// |x - y| < tolerance.
class ApproximateEqualOp {
 public:
  explicit ApproximateEqualOp(const Node& node) : tolerance_(node.FloatAttr("tolerance", 1e-5f)) {}
  float Plan(KernelContext& context) const;  // the tolerance

 private:
  float tolerance_;
};

// Three operands under one shape, which output 0 gets, and the shapes under which they broadcast.
struct TriplePlan {
  Shape shape;
  std::array<Shape, 3> operands;
};
// Select: both values of one shape; the condition of that shape, a scalar, or a vector over the first
// dimension.
TriplePlan PlanSelect(KernelContext& context);
TriplePlan PlanSelectV2(KernelContext& context);
// max(min(t, high), low): the limits are scalars or have t's shape. Inputs t, low, high.
TriplePlan PlanClip(KernelContext& context);

}  // namespace lanescope::exec
