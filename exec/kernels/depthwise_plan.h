// Depthwise convolution and its gradients, for every kind of device: attributes, checks and shapes.
#pragma once

#include <string>

#include "exec/kernels/op_kernel.h"
#include "exec/kernels/window.h"

namespace lanescope::exec {

// Images under windows, and how many filters each channel has.
struct DepthwisePlan {
  ImageWindows windows;
  int64_t multiplier;

  int64_t filters() const { return windows.channels * multiplier; }
};

class DepthwiseOp {
 public:
  explicit DepthwiseOp(const Node& node) : attrs_(node), name_(node.op) {}

 protected:
  DepthwisePlan PlanFor(const Shape& images, const Shape& filter) const;
  void CheckGradient(const DepthwisePlan& plan, const Shape& gradient) const;

 private:
  WindowAttrs attrs_;
  std::string name_;
};

class DepthwiseForwardOp : public DepthwiseOp {
 public:
  using DepthwiseOp::DepthwiseOp;
  DepthwisePlan Plan(KernelContext& context) const;
};
class DepthwiseInputGradOp : public DepthwiseOp {
 public:
  using DepthwiseOp::DepthwiseOp;
  DepthwisePlan Plan(KernelContext& context) const;
};
class DepthwiseFilterGradOp : public DepthwiseOp {
 public:
  using DepthwiseOp::DepthwiseOp;
  DepthwisePlan Plan(KernelContext& context) const;
};

template <void (*forward)(KernelContext&, const DepthwisePlan&),
          void (*input_grad)(KernelContext&, const DepthwisePlan&),
          void (*filter_grad)(KernelContext&, const DepthwisePlan&)>
void RegisterDepthwiseOps(KernelRegistry& registry) {
  RegisterOp<DepthwiseForwardOp, forward>(registry, "DepthwiseConv2dNative");
  RegisterOp<DepthwiseInputGradOp, input_grad>(registry, "DepthwiseConv2dNativeBackpropInput");
  RegisterOp<DepthwiseFilterGradOp, filter_grad>(registry, "DepthwiseConv2dNativeBackpropFilter");
}

}  // namespace lanescope::exec
