// SPDX-License-Identifier: Apache-2.0
// Apart from the registry itself, so that who needs other kernels does not link these.
#include "exec/kernels/queue_kernels.h"
#include "exec/kernels/widened.h"

namespace lanescope::exec {
namespace {

const KernelRegistry& PlainKernels() {
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
    RegisterAccumulatorKernels(made);
    RegisterTransferKernels(made);
    RegisterReaderKernels(made);
    RegisterDecodeKernels(made);
    RegisterExampleKernels(made);
    RegisterPieceKernels(made);
    RegisterPictureKernels(made);
    return made;
  }();
  return registry;
}

std::unique_ptr<Kernel> MakeOnHost(const Node& node) {
  return IsWidened(node) ? MakeWidened(node, PlainKernels()) : PlainKernels().Create(node);
}

}  // namespace

const KernelRegistry& KernelRegistry::Host() {
  static const KernelRegistry registry = [] {
    KernelRegistry made;
    for (const std::string_view op : PlainKernels().Names()) made.Register(std::string(op), MakeOnHost);
    return made;
  }();
  return registry;
}

}  // namespace lanescope::exec
