// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/pad_plan.h"

namespace lanescope::exec {
namespace {

std::vector<PadPlan::Border> ReadBorders(const TensorRef& x, const TensorRef& paddings) {
  const std::vector<int64_t> values = ReadInts(paddings);
  if (paddings.shape.rank() != 2 && x.shape.rank() != 0) {
    Throw(Code::kInvalidArgument, "paddings must be a matrix with 2 columns: {}", paddings.shape.ToString());
  }
  std::vector<PadPlan::Border> borders;
  for (size_t i = 0; i + 1 < values.size(); i += 2) borders.push_back({values[i], values[i + 1]});
  return borders;
}

}  // namespace

PadPlan PadOp::Plan(KernelContext& context) const {
  const TensorRef& x = context.input(0);
  PadPlan plan;
  plan.mode = mode_;
  plan.borders = ReadBorders(x, context.input(1));
  ShapeOutput(context, 0, ops::PaddedShape(x.shape, ReadElements(context.input(1)), mode_));
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
  map.skip = mode_ == PadMode::kReflect ? 1 : 0;
  const Shape shape = ops::UnpaddedShape(grad.shape, ReadElements(context.input(1)), mode_);
  for (int d = 0; d < map.rank; ++d) {
    const auto& [before, after] = borders[static_cast<size_t>(d)];
    map.axes[d] = {shape[d], before, after, strides[static_cast<size_t>(d)]};
  }
  ShapeOutput(context, 0, shape);
  return map;
}

}  // namespace lanescope::exec
