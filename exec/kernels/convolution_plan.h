// Convolution and its gradients, for every kind of device: shapes and checks.
#pragma once

#include "exec/kernels/op_kernel.h"
#include "exec/kernels/window.h"

namespace lanescope::exec {

// Images [batch, height, width, channels] under filters [height, width, channels, filters]. Of the gradients
// it is the forward convolution's.
struct ConvPlan {
  ImageWindows windows;
  int64_t filters = 0;
};

class ConvOp {
 public:
  explicit ConvOp(const Node& node) : attrs_(node) {}
  ConvPlan Plan(KernelContext& context) const;  // inputs images, filter

 protected:
  // Throws InvalidArgument where the shapes do not fit, or the gradient of the output is of another shape.
  ConvPlan PlanFor(const Shape& images, const Shape& filter) const;
  static void CheckGradient(const ConvPlan& plan, const Shape& gradient);

 private:
  WindowAttrs attrs_;
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

template <void (*forward)(KernelContext&, const ConvPlan&),
          void (*input_grad)(KernelContext&, const ConvPlan&),
          void (*filter_grad)(KernelContext&, const ConvPlan&)>
void RegisterConvolutionOps(KernelRegistry& registry) {
  RegisterOp<ConvOp, forward>(registry, "Conv2D");
  RegisterOp<ConvInputGradOp, input_grad>(registry, "Conv2DBackpropInput");
  RegisterOp<ConvFilterGradOp, filter_grad>(registry, "Conv2DBackpropFilter");
}

}  // namespace lanescope::exec
