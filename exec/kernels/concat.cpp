// SPDX-License-Identifier: Apache-2.0
// Joining and cutting along one axis, on host memory.
#include "exec/kernels/array_kernels.h"
#include "exec/kernels/join_plan.h"
#include "exec/kernels/strided_copy.h"

namespace lanescope::exec {
namespace {

// Calls copy(part, rows, its place in the whole) for every part; rows of a part lie side by side, rows of the
// whole `whole_row` elements apart.
template <typename Copy>
void ForEachPart(const PartsPlan& plan, const Copy& copy) {
  int64_t whole_row = 0;
  for (const int64_t run : plan.runs) whole_row += run;
  int64_t offset = 0;
  for (size_t k = 0; k < plan.runs.size(); ++k) {
    copy(static_cast<int>(k), plan.runs[k], whole_row, offset);
    offset += plan.runs[k];
  }
}

void JoinParts(KernelContext& context, const PartsPlan& plan) {
  const TensorRef& whole = context.output();
  ForEachPart(plan, [&](int part, int64_t run, int64_t whole_row, int64_t offset) {
    StridedCopy copy;
    copy.AddDim(plan.rows, whole_row, run);
    copy.AddDim(run, 1, 1);
    copy.Run(whole.dtype, ElementAt(whole.dtype, whole.data, offset), context.input(plan.first + part).data,
             context.team());
  });
}

void SplitWhole(KernelContext& context, const PartsPlan& plan) {
  const TensorRef& whole = context.input(plan.first);
  ForEachPart(plan, [&](int part, int64_t run, int64_t whole_row, int64_t offset) {
    StridedCopy copy;
    copy.AddDim(plan.rows, run, whole_row);
    copy.AddDim(run, 1, 1);
    copy.Run(whole.dtype, context.output(part).data,
             ElementAt(whole.dtype, static_cast<const void*>(whole.data), offset), context.team());
  });
}

}  // namespace

void RegisterConcatKernels(KernelRegistry& registry) { RegisterJoinOps<JoinParts, SplitWhole>(registry); }

}  // namespace lanescope::exec
