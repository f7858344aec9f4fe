// SPDX-License-Identifier: Apache-2.0
// Rows by index, for every kind of device. Whether the indices are in range is the body's matter: on the host
// one out of range is refused, in device memory its row is zeros, as in TensorFlow.
#pragma once

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// params viewed as [batch, outer, dimension, inner], indices as [batch, per_batch].
struct GatherPlan {
  const TensorRef* params;
  const TensorRef* indices;
  int64_t batch, outer, dimension, inner, per_batch;
};

class GatherOp {
 public:
  explicit GatherOp(const Node& node) : batch_dims_(node.IntAttr("batch_dims", 0)) {}
  GatherPlan Plan(KernelContext& context) const;

 private:
  int64_t batch_dims_;
};

// Gathers from a variable; the axis follows the batch dimensions.
class ResourceGatherOp {
 public:
  explicit ResourceGatherOp(const Node& node) : batch_dims_(node.IntAttr("batch_dims", 0)) {}
  GatherPlan Plan(KernelContext& context) const;

 private:
  int64_t batch_dims_;
};

// An index tensor [..., depth] whose rows are coordinates of the first `depth` dimensions of a shape.
struct CoordinateRows {
  int depth = 0;
  Shape outer;           // the index's dimensions without depth
  int64_t rows = 1;      // as many as `outer` has elements
  int64_t row_size = 1;  // elements of a row: of the dimensions that the index leaves open
  Shape result;          // of a gather: `outer`, then the row's
};
// Throws InvalidArgument where the index, called `name`, is a scalar or too deep.
CoordinateRows CoordinatesOf(std::string_view name, const Shape& indices, const Shape& shape);

struct GatherNdPlan {
  const TensorRef* params;
  CoordinateRows rows;
};
// Inputs params or a variable's handle, indices.
GatherNdPlan PlanGatherNd(KernelContext& context);
GatherNdPlan PlanResourceGatherNd(KernelContext& context);

template <void (*gather)(KernelContext&, const GatherPlan&),
          void (*gather_nd)(KernelContext&, const GatherNdPlan&)>
void RegisterGatherOps(KernelRegistry& registry) {
  for (const char* op : {"Gather", "GatherV2"}) RegisterOp<GatherOp, gather>(registry, op);
  RegisterOp<ResourceGatherOp, gather>(registry, "ResourceGather");
  RegisterOp<PlanGatherNd, gather_nd>(registry, "GatherNd");
  RegisterOp<PlanResourceGatherNd, gather_nd>(registry, "ResourceGatherNd");
}

}  // namespace lanescope::exec
