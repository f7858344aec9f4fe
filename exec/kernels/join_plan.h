// SPDX-License-Identifier: Apache-2.0
// Tensors side by side, for every kind of device: concatenations and their inverse. Axes and sizes are in
// host memory.
#pragma once

#include <vector>

#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

// A whole of `rows` rows, each made of one run of every part: parts of runs[0], runs[1], ... elements a row.
// Joined, the parts are inputs from `first` on and the whole is output 0; split, they are the outputs and the
// whole is input `first`.
struct PartsPlan {
  int first = 0;
  int64_t rows = 1;
  std::vector<int64_t> runs;
};

PartsPlan PlanConcat(KernelContext& context);
PartsPlan PlanConcatV2(KernelContext& context);
PartsPlan PlanSplit(KernelContext& context);
PartsPlan PlanSplitV(KernelContext& context);

class PackOp {
 public:
  explicit PackOp(const Node& node) : axis_(node.IntAttr("axis", 0)) {}
  PartsPlan Plan(KernelContext& context) const;

 private:
  int64_t axis_;
};

class UnpackOp {
 public:
  explicit UnpackOp(const Node& node) : axis_(node.IntAttr("axis", 0)) {}
  PartsPlan Plan(KernelContext& context) const;

 private:
  int64_t axis_;
};

template <void (*join)(KernelContext&, const PartsPlan&), void (*split)(KernelContext&, const PartsPlan&)>
void RegisterJoinOps(KernelRegistry& registry) {
  RegisterOp<PlanConcat, join>(registry, "Concat");
  RegisterOp<PlanConcatV2, join>(registry, "ConcatV2");
  RegisterOp<PackOp, join>(registry, "Pack");
  RegisterOp<UnpackOp, split>(registry, "Unpack");
  RegisterOp<PlanSplit, split>(registry, "Split");
  RegisterOp<PlanSplitV, split>(registry, "SplitV");
}

}  // namespace lanescope::exec
