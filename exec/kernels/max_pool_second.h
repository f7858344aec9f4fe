// What gradients of gradients of pooling want.
#pragma once

#include "exec/kernels/layer_plan.h"

namespace lanescope::exec {

// The gradient of a maximum's gradient. Inputs: x, y, and the gradient of what is shaped like x.
class MaxPoolGradGradOp : public PoolOp {
 public:
  using PoolOp::PoolOp;
  ImageWindows Plan(KernelContext& context) const;
};

void RegisterMaxPoolSecond(KernelRegistry& registry);  // MaxPoolGradGrad

}  // namespace lanescope::exec
