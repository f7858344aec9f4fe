// Apart from the registry itself, so that who needs other kernels does not link these.
#include "exec/kernels/queue_kernels.h"

namespace lanescope::exec {

const KernelRegistry& KernelRegistry::Host() {
  static const KernelRegistry registry = [] {
    KernelRegistry made;
    RegisterMathKernels(made);
    RegisterReductionKernels(made);
    RegisterLinearKernels(made);
    RegisterNnKernels(made);
    RegisterArrayKernels(made);
    RegisterSparseKernels(made);
    RegisterStateKernels(made);
    RegisterRandomKernels(made);
    RegisterStringKernels(made);
    RegisterQueueKernels(made);
    RegisterReaderKernels(made);
    RegisterDecodeKernels(made);
    RegisterPieceKernels(made);
    RegisterPictureKernels(made);
    return made;
  }();
  return registry;
}

}  // namespace lanescope::exec
