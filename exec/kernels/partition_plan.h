// SPDX-License-Identifier: Apache-2.0
// Rows dealt out by number and put together again, and distinct values, for every kind of device.
#pragma once

#include <vector>

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// Inputs: N index tensors in host memory, then N data tensors data[i] = indices[i].shape + row.
struct StitchPlan {
  int64_t rows = 0;                           // of the output
  int64_t inner = 0;                          // elements of a row
  std::vector<std::vector<int64_t>> targets;  // by data tensor: the output row of each of its rows
};
// Later rows win.
StitchPlan PlanDynamicStitch(KernelContext& context);

// Inputs data, partitions.
class PartitionOp {
 public:
  explicit PartitionOp(const Node& node) : parts_(node.IntAttr("num_partitions")) {}

  int64_t parts() const { return parts_; }
  // Checks the inputs; returns the elements of a row. There is a row for each element of the partitions.
  int64_t RowSize(const KernelContext& context) const;
  // Gives output `part` its rows.
  void ShapePart(KernelContext& context, int part, int64_t rows) const;

 private:
  int64_t parts_;
};

// Unique and UniqueWithCounts, and their V2 forms, whose input 1 holds an axis or nothing: gives output 1 its
// shape and returns the axis along which slices are compared.
int PlanUnique(KernelContext& context);

// Throws InvalidArgument for a scalar.
const TensorRef& PlanWhere(KernelContext& context);

}  // namespace lanescope::exec
