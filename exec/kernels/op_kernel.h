// SPDX-License-Identifier: Apache-2.0
// Kernels of two parts. A plan says what a launch of an op does: it reads attributes, checks inputs, gives
// the outputs their shapes, and is the same for every kind of device. A body does it and knows its device
// alone.
#pragma once

#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {

// Op: constructed from the node; Plan(context) is called at every launch, and body(context, plan) after it.
template <typename Op, auto body>
class OpKernel final : public Kernel {
 public:
  explicit OpKernel(const Node& node) : op_(node) {}
  void Compute(KernelContext& context) override { body(context, op_.Plan(context)); }
  // An op whose launches depend on what the host keeps says so: kReplayable.
  bool replayable() const override {
    if constexpr (requires { Op::kReplayable; }) return Op::kReplayable;
    return true;
  }

 private:
  Op op_;
};

template <typename Op, auto body>
void RegisterOp(KernelRegistry& registry, std::string name) {
  registry.Register(std::move(name), MakeKernel<OpKernel<Op, body>>);
}

// As above, for an op without attributes.
template <auto plan, auto body>
void PlanAndRun(KernelContext& context) {
  body(context, plan(context));
}

template <auto plan, auto body>
void RegisterOp(KernelRegistry& registry, std::string name) {
  registry.Register(std::move(name), MakeFunctionKernel<PlanAndRun<plan, body>>);
}

// The launch of ops that have nothing to do.
inline void DoNothing(KernelContext&) {}

}  // namespace lanescope::exec
