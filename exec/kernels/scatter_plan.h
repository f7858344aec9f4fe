// SPDX-License-Identifier: Apache-2.0
// Updates of rows, named by numbers or by coordinates, for every kind of device. Whether they are in range is
// the body's matter: on the host one out of range is refused, in device memory it is left out, as in
// TensorFlow.
#pragma once

#include "exec/kernels/gather_plan.h"
#include "exec/kernels/row_arithmetic.h"

namespace lanescope::exec {

// Rows of a variable by number: ScatterAdd and its family, for references and for handles.
struct RowScatter {
  Combine how;
  const TensorRef& variable;
  const TensorRef& indices;
  const TensorRef& updates;
  int64_t inner;  // elements of a row
  int64_t step;   // elements between those of an update: 1, or 0 where one number updates everything
};
class RowScatterOp {
 public:
  explicit RowScatterOp(const Node& node);
  RowScatter Plan(KernelContext& context) const;

 private:
  Combine how_;
};

// Rows of a tensor by coordinates. What is updated starts as zeros, as a copy of a tensor, or is a variable.
struct CoordinateScatter {
  Combine how;
  const TensorRef& indices;
  const TensorRef& updates;
  const TensorRef& target;
  const TensorRef* start;  // null: zeros; the target itself: what it holds
  CoordinateRows rows;
};
class CoordinateScatterOp {
 public:
  explicit CoordinateScatterOp(const Node& node);
  CoordinateScatter Plan(KernelContext& context) const;

 private:
  enum class Start { kZeros, kTensor, kVariable };
  Start start_;
  Combine how_;
};

// Inputs coordinates (one, a vector, or rows of a matrix), and in host memory the shape; values, and in host
// memory what stands elsewhere.
CoordinateRows PlanSparseToDense(KernelContext& context);

template <void (*scatter)(KernelContext&, const RowScatter&)>
void RegisterRowScatterOps(KernelRegistry& registry) {
  for (const std::string how : {"Update", "Add", "Sub", "Mul", "Div", "Min", "Max"}) {
    RegisterOp<RowScatterOp, scatter>(registry, "Scatter" + how);
    RegisterOp<RowScatterOp, scatter>(registry, "ResourceScatter" + how);
  }
}

template <void (*scatter)(KernelContext&, const CoordinateScatter&)>
void RegisterCoordinateScatterOps(KernelRegistry& registry) {
  for (const std::string how : {"", "Update", "Add", "Sub"}) {
    RegisterOp<CoordinateScatterOp, scatter>(registry, "ScatterNd" + how);
  }
  for (const std::string how : {"Update", "Add", "Sub", "Min", "Max"}) {
    RegisterOp<CoordinateScatterOp, scatter>(registry, "TensorScatter" + how);
  }
}

}  // namespace lanescope::exec
