#include "exec/kernels/pad_plan.h"

#include <algorithm>

namespace lanescope::exec {
namespace {

std::vector<PadPlan::Border> ReadBorders(const TensorRef& x, const TensorRef& paddings) {
  const auto rank = static_cast<size_t>(x.shape.rank());
  const std::vector<int64_t> values = ReadInts(paddings);
  if (values.size() != 2 * rank || (paddings.shape.rank() != 2 && rank != 0)) {
    Throw(Code::kInvalidArgument,
          "The first dimension of paddings must be the rank of inputs {}, but paddings are of shape {}",
          x.shape.ToString(), paddings.shape.ToString());
  }
  std::vector<PadPlan::Border> borders(rank);
  for (size_t d = 0; d < rank; ++d) {
    borders[d] = {values[2 * d], values[2 * d + 1]};
    if (borders[d].before < 0 || borders[d].after < 0) {
      Throw(Code::kInvalidArgument, "Paddings must be non-negative: {} {}", borders[d].before,
            borders[d].after);
    }
  }
  return borders;
}

}  // namespace

PadOp::PadOp(const Node& node) {
  if (node.op != "MirrorPad") return;
  mode_ = node.StringAttr("mode") == "REFLECT" ? PadMode::kReflect : PadMode::kSymmetric;
}

PadPlan PadOp::Plan(KernelContext& context) const {
  const TensorRef& x = context.input(0);
  PadPlan plan;
  plan.mode = mode_;
  plan.borders = ReadBorders(x, context.input(1));
  const bool reflect = mode_ == PadMode::kReflect;
  Shape shape;
  for (int d = 0; d < x.shape.rank(); ++d) {
    const auto [before, after] = plan.borders[static_cast<size_t>(d)];
    const int64_t limit = reflect ? std::max<int64_t>(0, x.shape[d] - 1) : x.shape[d];
    if (mode_ != PadMode::kConstant && (before > limit || after > limit)) {
      Throw(Code::kInvalidArgument, "paddings must be {} the dimension size: {}, {} {} {}",
            reflect ? "less than" : "no greater than", before, after,
            reflect ? "not less than" : "greater than", x.shape[d]);
    }
    shape.Append(AddDims(AddDims(before, x.shape[d]), after));
  }
  ShapeOutput(context, 0, shape);
  if (context.num_inputs() < 3) return plan;
  const TensorRef& fill = context.input(2);
  if (fill.NumElements() != 1) {
    Throw(Code::kInvalidArgument, "constant_values must be a scalar. Found: {}", fill.shape.ToString());
  }
  plan.fill = fill.data;
  return plan;
}

MirrorPadGradMap MirrorPadGradOp::Plan(KernelContext& context) const {
  const TensorRef& grad = context.input(0);
  const std::vector<PadPlan::Border> borders = ReadBorders(grad, context.input(1));
  const auto strides = StridesOf(grad.shape);
  MirrorPadGradMap map;
  map.rank = grad.shape.rank();
  map.skip = reflect_ ? 1 : 0;
  Shape shape;
  for (int d = 0; d < map.rank; ++d) {
    const auto& [before, after] = borders[static_cast<size_t>(d)];
    const int64_t size = grad.shape[d] - before - after;
    if (size < 0) {
      Throw(Code::kInvalidArgument,
            "Total paddings must be less than the input dimension size: {} was not less than {}",
            before + after, grad.shape[d]);
    }
    if (std::max(before, after) > std::max<int64_t>(0, size - map.skip)) {
      Throw(Code::kInvalidArgument, "paddings must be {} the output dimension size: {}, {} {} {}",
            reflect_ ? "less than" : "no greater than", before, after,
            reflect_ ? "not less than" : "greater than", size);
    }
    map.axes[d] = {size, before, after, strides[static_cast<size_t>(d)]};
    shape.Append(size);
  }
  ShapeOutput(context, 0, shape);
  return map;
}

}  // namespace lanescope::exec
