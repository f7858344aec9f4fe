// SPDX-License-Identifier: Apache-2.0
// Convolution, depthwise or not, and its gradients, for every kind of device.
#pragma once

#include "core/graph/ops/convolution.h"
#include "exec/kernels/op_kernel.h"
#include "exec/kernels/window.h"

namespace lanescope::exec {

// Images [batch, height, width, channels] under filters. Of the gradients it is the forward convolution's.
struct ConvPlan {
  ImageWindows windows;
  int64_t filters = 0;     // channels of the result
  int64_t multiplier = 0;  // depthwise: filters of a channel
};

class ConvOp {
 public:
  explicit ConvOp(const Node& node) : rule_(node) { RequireChannelsLast(node); }
  ConvPlan Plan(KernelContext& context) const;  // inputs images, filter

 protected:
  ConvPlan PlanFor(const Shape& images, const Shape& filter) const;

  ops::ConvolutionRule rule_;
};
// Inputs: the shape of the images or their height and width (in host memory), filter, gradient.
class ConvInputGradOp : public ConvOp {
 public:
  using ConvOp::ConvOp;
  ConvPlan Plan(KernelContext& context) const;
};
// Inputs: images, the shape of the filter (in host memory), gradient.
class ConvFilterGradOp : public ConvOp {
 public:
  using ConvOp::ConvOp;
  ConvPlan Plan(KernelContext& context) const;
};

// `name`: Conv2D or DepthwiseConv2dNative.
template <void (*forward)(KernelContext&, const ConvPlan&),
          void (*input_grad)(KernelContext&, const ConvPlan&),
          void (*filter_grad)(KernelContext&, const ConvPlan&)>
void RegisterConvolutionOps(KernelRegistry& registry, const std::string& name) {
  RegisterOp<ConvOp, forward>(registry, name);
  RegisterOp<ConvInputGradOp, input_grad>(registry, name + "BackpropInput");
  RegisterOp<ConvFilterGradOp, filter_grad>(registry, name + "BackpropFilter");
}

}  // namespace lanescope::exec
