// What gradients of gradients of pooling want.
#pragma once

#include "exec/kernels/layer_plan.h"

namespace lanescope::exec {

void RegisterMaxPoolSecond(KernelRegistry& registry);  // MaxPoolGradGrad

}  // namespace lanescope::exec
