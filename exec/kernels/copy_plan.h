// SPDX-License-Identifier: Apache-2.0
// Ops that give every element a new place, for every kind of device: what each copies, and where.
#pragma once

#include <vector>

#include "core/graph/ops/images.h"
#include "core/graph/ops/strided_slice.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// A copy between two strided views of the same extents. Places count elements.
struct CopyPlan {
  struct Dim {
    int64_t count, to, from;  // strides; `from` may be zero or negative
  };
  int input = 0;
  bool clear = false;  // what is not copied to becomes zero
  int64_t to = 0;      // where the views begin
  int64_t from = 0;
  std::vector<Dim> dims;  // outermost first; empty views have a dimension without elements
};

CopyPlan PlanTranspose(KernelContext& context);
CopyPlan PlanTile(KernelContext& context);
CopyPlan PlanBroadcastTo(KernelContext& context);
CopyPlan PlanReverse(KernelContext& context);
CopyPlan PlanSlice(KernelContext& context);

// Transposes real numbers, which are their own conjugates.
class ConjugateTransposeOp {
 public:
  explicit ConjugateTransposeOp(const Node& node);
  CopyPlan Plan(KernelContext& context) const { return PlanTranspose(context); }
};

class StridedSliceOp {
 public:
  explicit StridedSliceOp(const Node& node) : masks_(node) {}
  CopyPlan Plan(KernelContext& context) const;

 private:
  ops::StridedSliceMasks masks_;
};

// Inputs shape, begin, end, strides, dy: zeros of `shape` with dy where the slice took its elements.
class StridedSliceGradOp {
 public:
  explicit StridedSliceGradOp(const Node& node) : masks_(node) {}
  CopyPlan Plan(KernelContext& context) const;

 private:
  ops::StridedSliceMasks masks_;
};

// DepthToSpace and SpaceToDepth.
class BlockOp {
 public:
  explicit BlockOp(const Node& node) : rule_(node) {}
  CopyPlan Plan(KernelContext& context) const;

 private:
  ops::BlockRule rule_;
};

template <void (*copy)(KernelContext&, const CopyPlan&)>
void RegisterCopyOps(KernelRegistry& registry) {
  RegisterOp<PlanTranspose, copy>(registry, "Transpose");
  RegisterOp<ConjugateTransposeOp, copy>(registry, "ConjugateTranspose");
  RegisterOp<PlanTile, copy>(registry, "Tile");
  RegisterOp<PlanBroadcastTo, copy>(registry, "BroadcastTo");
  RegisterOp<PlanReverse, copy>(registry, "ReverseV2");
  RegisterOp<PlanSlice, copy>(registry, "Slice");
  RegisterOp<StridedSliceOp, copy>(registry, "StridedSlice");
  RegisterOp<StridedSliceGradOp, copy>(registry, "StridedSliceGrad");
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) RegisterOp<BlockOp, copy>(registry, op);
}

}  // namespace lanescope::exec
