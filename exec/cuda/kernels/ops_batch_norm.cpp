// SPDX-License-Identifier: Apache-2.0
// FusedBatchNorm and its gradient.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/batch_norm.h"
#include "exec/cuda/kernels/movement.h"

namespace lanescope::exec::cuda {
namespace {

class FusedBatchNormKernel final : public Kernel {
 public:
  explicit FusedBatchNormKernel(const Node& node) : spec_(node) {}

  void Compute(KernelContext& context) override {
    const ChannelShape shape = PrepareBatchNorm(context, spec_);
    const auto in = [&](int i) { return context.input(i).as<float>(); };
    const auto out = [&](int i) { return context.output(i).as<float>(); };
    Launch& launch = LaunchOf(context);
    const int64_t bytes = shape.channels * static_cast<int64_t>(sizeof(float));
    const bool empty = shape.elements() == 0;
    if (!spec_.training || empty) {
      ZeroBytes(launch, out(3), bytes);
      ZeroBytes(launch, out(4), bytes);
    }
    BatchNormStep step{in(0), in(1), in(2), in(3), in(4), out(0), out(3), out(4), out(1), out(2)};
    if (!spec_.training && !empty) {
      CopyBytes(launch, out(1), in(3), bytes);
      CopyBytes(launch, out(2), in(4), bytes);
      step.mean = in(3);
      step.variance = in(4);
    }
    RunBatchNorm(launch, spec_, shape, step);
  }

 private:
  BatchNormSpec spec_;
};

// Inputs: dy, x, scale, mean, variance.
class FusedBatchNormGradKernel final : public Kernel {
 public:
  explicit FusedBatchNormGradKernel(const Node& node) : spec_(node) {}

  void Compute(KernelContext& context) override {
    const ChannelShape shape = PrepareBatchNormGrad(context, spec_);
    const auto in = [&](int i) { return context.input(i).as<float>(); };
    const auto out = [&](int i) { return context.output(i).as<float>(); };
    Launch& launch = LaunchOf(context);
    if (shape.elements() == 0) {
      const int64_t bytes = shape.channels * static_cast<int64_t>(sizeof(float));
      ZeroBytes(launch, out(1), bytes);
      ZeroBytes(launch, out(2), bytes);
    }
    RunBatchNormGrad(launch, spec_, shape, {in(0), in(1), in(2), in(3), in(4), out(0), out(1), out(2)});
  }

 private:
  BatchNormSpec spec_;
};

}  // namespace

void RegisterBatchNormOps(KernelRegistry& registry) {
  for (const std::string version : {"", "V2", "V3"}) {
    registry.Register("FusedBatchNorm" + version, MakeKernel<FusedBatchNormKernel>);
    registry.Register("FusedBatchNormGrad" + version, MakeKernel<FusedBatchNormGradKernel>);
  }
}

}  // namespace lanescope::exec::cuda
