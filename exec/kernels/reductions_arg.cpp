// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include "core/graph/work_pieces.h"
#include "exec/kernels/reductions.h"

namespace lanescope::exec {
namespace {

template <typename T, typename Index, bool kLargest>
void SearchAxis(KernelContext& context, const AxisWalk& walk) {
  const int64_t grain = std::max<int64_t>(1, kPieceElements / (walk.length * walk.inner));
  context.team().ParallelFor(walk.outer, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> best(static_cast<size_t>(walk.inner));
    for (int64_t i = begin; i < end; ++i) {
      best.assign(best.size(), kLargest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
      Index* to = context.output().as<Index>() + i * walk.inner;
      std::fill(to, to + walk.inner, Index(0));
      for (int64_t k = 0; k < walk.length; ++k) {
        const T* from = context.input(0).as<T>() + (i * walk.length + k) * walk.inner;
        for (int64_t j = 0; j < walk.inner; ++j) {
          T& record = best[static_cast<size_t>(j)];
          if (kLargest ? from[j] > record : from[j] < record) {
            record = from[j];
            to[j] = static_cast<Index>(k);
          }
        }
      }
    }
  });
}

}  // namespace

void FindExtremes(KernelContext& context, const ArgPlan& plan) {
  if (context.output().NumElements() == 0) return;
  DispatchNumber("ArgMax", context.input(0).dtype, [&]<typename T>(T) {
    DispatchIndex("ArgMax", context.output().dtype, [&]<typename Index>(Index) {
      plan.largest ? SearchAxis<T, Index, true>(context, plan.walk)
                   : SearchAxis<T, Index, false>(context, plan.walk);
    });
  });
}

}  // namespace lanescope::exec
