// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/reduction_plan.h"

namespace lanescope::exec {
namespace {

AxisWalk WalkOf(const Shape& shape, int axis) {
  return {SizeOfDims(shape, 0, axis), shape[axis], SizeOfDims(shape, axis + 1, shape.rank())};
}

}  // namespace

ReductionOp::ReductionOp(const Node& node) : keep_dims_(node.BoolAttr("keep_dims", false)) {
  const std::string& op = node.op;
  if (op == "Prod") spec_.op = ReduceOp::kProd;
  if (op == "Max" || op == "Any") spec_.op = ReduceOp::kMax;
  if (op == "Min" || op == "All") spec_.op = ReduceOp::kMin;
  if (op == "Mean") spec_.finish = Finish::kDivide;
  if (op == "EuclideanNorm") {
    spec_.op = ReduceOp::kSumSquares;
    spec_.finish = Finish::kSquareRoot;
  }
  if (op != "Any" && op != "All") LoopTypeOf(op, node.TypeAttr("T"));
}

ReductionPlan ReductionOp::Plan(KernelContext& context) const {
  const Shape& x = context.input(0).shape;
  ReductionPlan plan{spec_, ops::ReducedDims(ReadInts(context.input(1)), x.rank())};
  int64_t count = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (plan.gone[static_cast<size_t>(d)]) count *= x[d];
  }
  if (plan.spec.finish == Finish::kDivide) plan.spec.divisor = count;
  context.SetOutputShape(0, ops::ReducedShape(x, plan.gone, keep_dims_));
  return plan;
}

ReductionPlan L2LossOp::Plan(KernelContext& context) const {
  context.SetOutputShape(0, Shape{});
  ReductionPlan plan{{ReduceOp::kSumSquares, Finish::kDivide, 2}};
  plan.gone.fill(true);
  return plan;
}

ArgPlan ArgOp::Plan(KernelContext& context) const {
  Shape shape = context.input(0).shape;
  const int axis = ops::ArgDim(shape, ReadInt(context.input(1), "dimension"));
  const ArgPlan plan{largest_, WalkOf(shape, axis)};
  shape.Erase(axis);
  context.SetOutputShape(0, shape);
  return plan;
}

ScanPlan ScanOp::Plan(KernelContext& context) const {
  const Shape& x = context.input(0).shape;
  const int axis = ops::ScanDim(x.rank(), ReadInt(context.input(1), "axis"));
  context.SetOutputShape(0, x);
  return {spec_, WalkOf(x, axis)};
}

TopKPlan TopKOp::Plan(KernelContext& context) const {
  const Shape& x = context.input(0).shape;
  const int64_t k = context.num_inputs() == 2 ? ReadInt(context.input(1), "k") : k_;
  ops::CheckK(k);
  const Shape shape = ops::TopKShape(x, k);
  const int last = x.rank() - 1;
  ShapeOutput(context, 0, shape);
  ShapeOutput(context, 1, shape);
  return {SizeOfDims(x, 0, last), x[last], k};
}

int64_t PlanInTopK(KernelContext& context) {
  const Shape& predictions = context.input(0).shape;
  const Shape& targets = context.input(1).shape;
  if (predictions.rank() != 2) Throw(Code::kInvalidArgument, "predictions must be 2-dimensional");
  if (targets.rank() != 1) Throw(Code::kInvalidArgument, "targets must be 1-dimensional");
  if (targets[0] != predictions[0]) {
    Throw(Code::kInvalidArgument, "First dimension of predictions {} must match length of targets {}",
          predictions[0], targets[0]);
  }
  ShapeOutput(context, 0, targets);
  return targets[0];
}

}  // namespace lanescope::exec
