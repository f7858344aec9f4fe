#include "exec/kernels/linear.h"

namespace lanescope::exec {

void RegisterLinearKernels(KernelRegistry& registry) {
  RegisterMatMulKernels(registry);
  RegisterConvolutionKernels(registry);
}

}  // namespace lanescope::exec
