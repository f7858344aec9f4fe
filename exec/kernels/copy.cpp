// SPDX-License-Identifier: Apache-2.0
// Copies between strided views, on host memory: Transpose, Slice and their like.
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/copy_plan.h"
#include "exec/kernels/strided_copy.h"

namespace lanescope::exec {
namespace {

void CopyElementsOf(KernelContext& context, const CopyPlan& plan) {
  const TensorRef& x = context.input(plan.input);
  const TensorRef& y = context.output();
  if (plan.clear) ZeroElements(y.dtype, y.data, y.NumElements(), context.team());
  StridedCopy copy;
  for (const CopyPlan::Dim& dim : plan.dims) copy.AddDim(dim.count, dim.to, dim.from);
  copy.Run(x.dtype, ElementAt(y.dtype, y.data, plan.to),
           ElementAt(x.dtype, static_cast<const void*>(x.data), plan.from), context.team());
}

}  // namespace

void RegisterCopyKernels(KernelRegistry& registry) { RegisterCopyOps<CopyElementsOf>(registry); }

}  // namespace lanescope::exec
