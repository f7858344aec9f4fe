// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/nn.h"

#include <algorithm>
#include <vector>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_plan.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {
namespace {

class LeakyReluKernel final : public Kernel {
 public:
  explicit LeakyReluKernel(const Node& node) : alpha_(node.FloatAttr("alpha", 0.2f)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    context.SetOutputShape(0, x.shape);
    DispatchReal("LeakyRelu", x.dtype, [&]<typename T>(T) {
      context.team().ParallelFor(x.NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
        HostLoops().rows<T>().leaky_relu(end - begin, static_cast<T>(alpha_), x.as<T>() + begin,
                                         context.output().as<T>() + begin);
      });
    });
  }

 private:
  float alpha_;
};

class LeakyReluGradKernel final : public Kernel {
 public:
  explicit LeakyReluGradKernel(const Node& node) : op_(node), alpha_(node.FloatAttr("alpha", 0.2f)) {}

  void Compute(KernelContext& context) override {
    const TensorRef& dy = context.input(0);
    const TensorRef& x = context.input(1);
    op_.Plan(context);
    DispatchReal("LeakyReluGrad", x.dtype, [&]<typename T>(T) {
      context.team().ParallelFor(x.NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
        HostLoops().rows<T>().leaky_relu_grad(end - begin, static_cast<T>(alpha_), dy.as<T>() + begin,
                                              x.as<T>() + begin, context.output().as<T>() + begin);
      });
    });
  }

 private:
  SameShapesOp op_;
  float alpha_;
};

template <typename T>
void NormaliseRows(KernelContext& context, const LrnPlan& plan) {
  const auto bias = static_cast<T>(plan.bias);
  const auto alpha = static_cast<T>(plan.alpha);
  const auto beta = static_cast<T>(plan.beta);
  const RowLoops<T>& loops = HostLoops().rows<T>();
  const int64_t depth = plan.depth;
  context.team().ParallelFor(
      plan.pixels, std::max<int64_t>(1, kElementGrain / depth), [&](int64_t begin, int64_t end) {
        thread_local std::vector<T> scratch;
        scratch.resize(std::max(scratch.size(), static_cast<size_t>(3 * depth + 2 * plan.radius)));
        const auto at = [&](const TensorRef& tensor) { return tensor.as<T>() + begin * depth; };
        T* out = at(context.output());
        if (plan.gradient) {
          loops.lrn_grad(end - begin, depth, plan.radius, bias, alpha, beta, at(context.input(1)),
                         at(context.input(2)), at(context.input(0)), out, scratch.data());
        } else {
          loops.lrn(end - begin, depth, plan.radius, bias, alpha, beta, at(context.input(0)), out,
                    scratch.data());
        }
      });
}

}  // namespace

void HostLayers::Lrn(KernelContext& context, const LrnPlan& plan) {
  if (plan.pixels * plan.depth == 0) return;
  DispatchReal("LRN", context.input(0).dtype, [&]<typename T>(T) { NormaliseRows<T>(context, plan); });
}

void RegisterNnKernels(KernelRegistry& registry) {
  registry.Register("LeakyRelu", MakeKernel<LeakyReluKernel>);
  registry.Register("LeakyReluGrad", MakeKernel<LeakyReluGradKernel>);
  RegisterLayerOps<HostLayers>(registry);
  RegisterBatchNormKernels(registry);
  RegisterVolumePoolingKernels(registry);
}

}  // namespace lanescope::exec
