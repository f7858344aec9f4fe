// SPDX-License-Identifier: Apache-2.0
#include "exec/loops/element_wise_list.h"
#include "exec/loops/fill.h"
#include "exec/loops/pairwise.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {

void FillBinary(Loops& loops) {
  functors::ForEachBinary([&]<typename F, typename... T>(BinaryOp op) {
    ((loops.binary[static_cast<size_t>(op)][static_cast<size_t>(functors::kTypeOf<T>)] = MapPairs<F, T, T>),
     ...);
  });
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
