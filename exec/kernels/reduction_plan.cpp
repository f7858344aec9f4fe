#include "exec/kernels/reduction_plan.h"

namespace lanescope::exec {
namespace {

ReducedDims AxesOf(const TensorRef& axes, int rank) {
  ReducedDims gone{};
  for (int64_t axis : ReadInts(axes)) {
    if (axis < -rank || axis >= rank) {
      Throw(Code::kInvalidArgument, "Invalid reduction dimension ({} for input with {} dimension(s))", axis,
            rank);
    }
    if (axis < 0) axis += rank;
    bool& at = gone[static_cast<size_t>(axis)];
    if (at) {
      Throw(Code::kInvalidArgument, "Invalid reduction arguments: Axes contains duplicate dimension: {}",
            axis);
    }
    at = true;
  }
  return gone;
}

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
  ReductionPlan plan{spec_, AxesOf(context.input(1), x.rank())};
  Shape shape;
  int64_t count = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (!plan.gone[static_cast<size_t>(d)]) {
      shape.Append(x[d]);
      continue;
    }
    count *= x[d];
    if (keep_dims_) shape.Append(1);
  }
  if (plan.spec.finish == Finish::kDivide) plan.spec.divisor = count;
  context.SetOutputShape(0, shape);
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
  const int rank = shape.rank();
  const int64_t dimension = ReadInt(context.input(1), "dimension");
  if (dimension < -rank || dimension >= rank) {
    Throw(Code::kInvalidArgument, "Expected dimension in the range [{}, {}), but got {}", -rank, rank,
          dimension);
  }
  const int axis = static_cast<int>(dimension < 0 ? dimension + rank : dimension);
  const ArgPlan plan{largest_, WalkOf(shape, axis)};
  if (plan.walk.length == 0) {
    Throw(Code::kInvalidArgument, "Reduction axis {} is empty in shape {}", axis, shape.ToString());
  }
  shape.Erase(axis);
  context.SetOutputShape(0, shape);
  return plan;
}

ScanPlan ScanOp::Plan(KernelContext& context) const {
  const Shape& x = context.input(0).shape;
  const int rank = x.rank();
  const int64_t axis = ReadInt(context.input(1), "axis");
  if (axis < -rank || axis >= rank) {
    Throw(Code::kInvalidArgument, "ScanOp: Expected scan axis in the range [{}, {}), but got {}", -rank, rank,
          axis);
  }
  context.SetOutputShape(0, x);
  return {spec_, WalkOf(x, static_cast<int>(axis < 0 ? axis + rank : axis))};
}

TopKPlan TopKOp::Plan(KernelContext& context) const {
  Shape shape = context.input(0).shape;
  const int64_t k = context.num_inputs() == 2 ? ReadInt(context.input(1), "k") : k_;
  if (k < 0) Throw(Code::kInvalidArgument, "Need k >= 0, got {}", k);
  const int last = shape.rank() - 1;
  if (last < 0) Throw(Code::kInvalidArgument, "input must be >= 1-D, got shape {}", shape.ToString());
  const int64_t columns = shape[last];
  if (columns < k) {
    Throw(Code::kInvalidArgument, "input must have at least k columns. Had {}, needed {}", columns, k);
  }
  const TopKPlan plan{SizeOfDims(shape, 0, last), columns, k};
  shape.set_dim(last, k);
  ShapeOutput(context, 0, shape);
  ShapeOutput(context, 1, shape);
  return plan;
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
