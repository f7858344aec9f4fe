// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/partition_plan.h"

#include <algorithm>

namespace lanescope::exec {

StitchPlan PlanDynamicStitch(KernelContext& context) {
  const int pairs = context.num_inputs() / 2;
  StitchPlan plan;
  Shape row_shape;
  for (int p = 0; p < pairs; ++p) {
    const Shape& indices = context.input(p).shape;
    const Shape& data = context.input(pairs + p).shape;
    if (!StartsWith(data, indices)) {
      Throw(Code::kInvalidArgument, "data[{}].shape = {} does not start with indices[{}].shape = {}", p,
            data.ToString(), p, indices.ToString());
    }
    Shape shape;
    for (int d = indices.rank(); d < data.rank(); ++d) shape.Append(data[d]);
    if (p > 0 && !(shape == row_shape)) {
      Throw(Code::kInvalidArgument,
            "Need data[0].shape[{}:] = data[{}].shape[{}:], got data[0].shape = {}, data[{}].shape = {}",
            context.input(0).shape.rank(), p, indices.rank(), context.input(pairs).shape.ToString(), p,
            data.ToString());
    }
    row_shape = shape;
    plan.targets.push_back(ReadInts(context.input(p)));
    for (const int64_t index : plan.targets.back()) {
      if (index < 0) Throw(Code::kInvalidArgument, "indices[{}] = {} is out of range", p, index);
      plan.rows = std::max(plan.rows, AddDims(index, 1));
    }
  }
  plan.inner = row_shape.NumElements();
  row_shape.Insert(0, plan.rows);
  ShapeOutput(context, 0, row_shape);
  return plan;
}

int64_t PartitionOp::RowSize(const KernelContext& context) const {
  const Shape& data = context.input(0).shape;
  const Shape& partitions = context.input(1).shape;
  if (!StartsWith(data, partitions)) {
    Throw(Code::kInvalidArgument,
          "data.shape must start with partitions.shape, got data.shape = {}, partitions.shape = {}",
          data.ToString(), partitions.ToString());
  }
  return SizeOfDims(data, partitions.rank(), data.rank());
}

void PartitionOp::ShapePart(KernelContext& context, int part, int64_t rows) const {
  const Shape& data = context.input(0).shape;
  Shape shape{rows};
  for (int d = context.input(1).shape.rank(); d < data.rank(); ++d) shape.Append(data[d]);
  ShapeOutput(context, part, shape);
}

int PlanUnique(KernelContext& context) {
  const Shape& x = context.input(0).shape;
  const std::vector<int64_t> axes =
      context.num_inputs() > 1 ? ReadInts(context.input(1)) : std::vector<int64_t>();
  if (axes.empty() && x.rank() != 1) Throw(Code::kInvalidArgument, "unique expects a 1D vector.");
  if (axes.size() > 1) {
    Throw(Code::kInvalidArgument, "axis does not support input tensors larger than 1 elements");
  }
  int64_t axis = axes.empty() ? 0 : axes[0];
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) {
    Throw(Code::kInvalidArgument, "axis has to be between [0, {})", x.rank());
  }
  ShapeOutput(context, 1, Shape{x[static_cast<int>(axis)]});
  return static_cast<int>(axis);
}

const TensorRef& PlanWhere(KernelContext& context) {
  const TensorRef& x = context.input(0);
  if (x.shape.rank() == 0) Throw(Code::kInvalidArgument, "WhereOp : Unhandled input dimensions: {}", 0);
  return x;
}

}  // namespace lanescope::exec
