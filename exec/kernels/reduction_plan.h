// SPDX-License-Identifier: Apache-2.0
// Reductions, running sums and the largest elements, for every kind of device. Axes are in host memory.
#pragma once

#include <array>

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// Which dimensions go away.
using ReducedDims = ops::DimSet;

// The last step from a total to a result.
enum class Finish : int {
  kNone,
  kDivide,  // by ReduceSpec::divisor; integers: toward zero, and 0 by 0 is 0
  kSquareRoot,
};

struct ReduceSpec {
  ReduceOp op = ReduceOp::kSum;
  Finish finish = Finish::kNone;
  int64_t divisor = 1;
};

// Any and All are the maximum and minimum of bools.
struct ReductionPlan {
  ReduceSpec spec;
  ReducedDims gone{};
};
class ReductionOp {
 public:
  explicit ReductionOp(const Node& node);
  ReductionPlan Plan(KernelContext& context) const;

 private:
  ReduceSpec spec_;
  bool keep_dims_;
};
// sum(x^2) / 2
class L2LossOp {
 public:
  explicit L2LossOp(const Node& node) { LoopTypeOf(node.op, node.TypeAttr("T")); }
  ReductionPlan Plan(KernelContext& context) const;
};

// Input 0 as [outer, length, inner] around an axis.
struct AxisWalk {
  int64_t outer, length, inner;
};

// The index of the first largest (smallest) element along a dimension, of which there is one at least. A NaN
// is never larger or smaller.
struct ArgPlan {
  bool largest;
  AxisWalk walk;
};
class ArgOp {
 public:
  explicit ArgOp(const Node& node) : largest_(node.op == "ArgMax") {
    LoopTypeOf(node.op, node.TypeAttr("T"));
  }
  ArgPlan Plan(KernelContext& context) const;

 private:
  bool largest_;
};

// Running sums (products) along a dimension; exclusive leaves out the element itself, reverse starts at the
// end.
struct ScanSpec {
  bool product = false;
  bool exclusive = false;
  bool reverse = false;
};
struct ScanPlan {
  ScanSpec spec;
  AxisWalk walk;
};
class ScanOp {
 public:
  explicit ScanOp(const Node& node)
      : spec_{node.op == "Cumprod", node.BoolAttr("exclusive", false), node.BoolAttr("reverse", false)} {}
  ScanPlan Plan(KernelContext& context) const;

 private:
  ScanSpec spec_;
};

// Values and their numbers (int32), largest first; of equal ones the first comes first.
struct TopKPlan {
  int64_t rows, columns, k;
};
class TopKOp {
 public:
  explicit TopKOp(const Node& node) : k_(node.IntAttr("k", -1)) {}
  TopKPlan Plan(KernelContext& context) const;

 private:
  int64_t k_;
};

// Whether fewer than k classes are more probable than the target. False where that cannot be said: a target
// out of range, or a prediction that is not finite. Checks predictions and targets; returns the rows.
int64_t PlanInTopK(KernelContext& context);

template <void (*reduce)(KernelContext&, const ReductionPlan&), void (*arg)(KernelContext&, const ArgPlan&),
          void (*scan)(KernelContext&, const ScanPlan&)>
void RegisterReductionOps(KernelRegistry& registry) {
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm", "Any", "All"}) {
    RegisterOp<ReductionOp, reduce>(registry, op);
  }
  RegisterOp<L2LossOp, reduce>(registry, "L2Loss");
  for (const char* op : {"ArgMax", "ArgMin"}) RegisterOp<ArgOp, arg>(registry, op);
  for (const char* op : {"Cumsum", "Cumprod"}) RegisterOp<ScanOp, scan>(registry, op);
}

}  // namespace lanescope::exec
