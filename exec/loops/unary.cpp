// SPDX-License-Identifier: Apache-2.0
#include "exec/loops/element_wise_list.h"
#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename F, typename T, typename R>
void Map(int64_t n, const void* x, void* y) {
  const T* in = static_cast<const T*>(x);
  R* out = static_cast<R*>(y);
  const F op{};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = op(in[i]);
}

struct LogicalNot {
  bool operator()(bool x) const { return !x; }
};

}  // namespace

void FillUnary(Loops& loops) {
  functors::ForEachUnary([&]<typename F, typename... T>(UnaryOp op) {
    ((loops.unary[static_cast<size_t>(op)][static_cast<size_t>(functors::kTypeOf<T>)] = Map<F, T, T>), ...);
  });
  functors::ForEachTest([&]<typename F, typename... T>(TestOp op) {
    ((loops.test[static_cast<size_t>(op)][static_cast<size_t>(functors::kTypeOf<T>)] = Map<F, T, bool>), ...);
  });
  loops.logical_not = Map<LogicalNot, bool, bool>;
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
