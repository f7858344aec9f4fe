// SPDX-License-Identifier: Apache-2.0
// The loop of two operands that advance or stay: rows of runs (Operand), specialised by what the run does.
#pragma once

#include "exec/functors/isa.h"
#include "exec/loops/loops.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {

template <typename F, typename T, typename R>
void MapPairs(int64_t rows, int64_t n, Operand a, Operand b, void* y) {
  const F op{};
  for (int64_t row = 0; row < rows; ++row) {
    const T* left = static_cast<const T*>(a.data) + row * a.row;
    const T* right = static_cast<const T*>(b.data) + row * b.row;
    R* out = static_cast<R*>(y) + row * n;
    if (a.step != 0 && b.step != 0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = op(left[i], right[i]);
    } else if (a.step != 0) {
      const T value = *right;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = op(left[i], value);
    } else if (b.step != 0) {
      const T value = *left;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = op(value, right[i]);
    } else {
      const R value = op(*left, *right);
      for (int64_t i = 0; i < n; ++i) out[i] = value;
    }
  }
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
