// SPDX-License-Identifier: Apache-2.0
#include "core/graph/work_pieces.h"
#include "exec/functors/binary.h"
#include "exec/kernels/reductions.h"

namespace lanescope::exec {
namespace {

template <typename T, typename F>
void ScanLines(KernelContext& context, const ScanPlan& plan, F op, T identity) {
  const AxisWalk& walk = plan.walk;
  const T* in = context.input(0).as<T>();
  T* out = context.output().as<T>();
  context.team().ParallelFor(walk.outer * walk.inner, std::max<int64_t>(1, kPieceElements / walk.length),
                             [&](int64_t begin, int64_t end) {
                               for (int64_t line = begin; line < end; ++line) {
                                 const int64_t base =
                                     line / walk.inner * walk.length * walk.inner + line % walk.inner;
                                 T total = identity;
                                 for (int64_t k = 0; k < walk.length; ++k) {
                                   const int64_t place = plan.spec.reverse ? walk.length - 1 - k : k;
                                   const int64_t at = base + place * walk.inner;
                                   const T next = op(total, in[at]);
                                   out[at] = plan.spec.exclusive ? total : next;
                                   total = next;
                                 }
                               }
                             });
}

}  // namespace

void SumRunning(KernelContext& context, const ScanPlan& plan) {
  if (context.input(0).NumElements() == 0) return;
  DispatchNumber("Cumsum", context.input(0).dtype, [&]<typename T>(T) {
    plan.spec.product ? ScanLines<T>(context, plan, functors::Mul(), T(1))
                      : ScanLines<T>(context, plan, functors::Add(), T(0));
  });
}

}  // namespace lanescope::exec
