// SPDX-License-Identifier: Apache-2.0
// Borders around a tensor, for every kind of device: a constant, or its own elements mirrored.
#pragma once

#include <vector>

#include "exec/kernels/mirror_pad_grad.h"
#include "exec/kernels/op_kernel.h"

namespace lanescope::exec {

using ops::PadMode;

struct PadPlan {
  struct Border {
    int64_t before, after;
  };
  PadMode mode = PadMode::kConstant;
  std::vector<Border> borders;  // by dimension of input 0
  const void* fill = nullptr;   // one element in host memory; null: zero
};

// Pad, PadV2 and MirrorPad.
class PadOp {
 public:
  explicit PadOp(const Node& node) : mode_(ops::PadModeOf(node)) {}
  PadPlan Plan(KernelContext& context) const;

 private:
  PadMode mode_;
};

class MirrorPadGradOp {
 public:
  explicit MirrorPadGradOp(const Node& node) : mode_(ops::PadModeOf(node)) {}
  MirrorPadGradMap Plan(KernelContext& context) const;

 private:
  PadMode mode_;
};

template <void (*pad)(KernelContext&, const PadPlan&), void (*grad)(KernelContext&, const MirrorPadGradMap&)>
void RegisterPadOps(KernelRegistry& registry) {
  for (const char* op : {"Pad", "PadV2", "MirrorPad"}) RegisterOp<PadOp, pad>(registry, op);
  RegisterOp<MirrorPadGradOp, grad>(registry, "MirrorPadGrad");
}

}  // namespace lanescope::exec
