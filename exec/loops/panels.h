// SPDX-License-Identifier: Apache-2.0
// A matrix in panels of kPanel columns, [ceil(n / kPanel)][k][kPanel], the last one zero-filled: what
// products and convolutions stream through.
#pragma once

#include <cstdint>

#include "exec/loops/vectors.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {

// Panels of a matrix of k rows, which are `from_step` elements apart; panels are `panel_step` apart.
template <typename T>
inline void PackPanels(int64_t k, int64_t n, const T* from, int64_t from_step, T* panels,
                       int64_t panel_step) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  const int64_t whole = n / kPanel<T>;
  for (int64_t row = 0; row < k; ++row) {
    const T* x = from + row * from_step;
    T* to = panels + row * kPanel<T>;
    for (int64_t panel = 0; panel < whole; ++panel, x += kPanel<T>, to += panel_step) {
      const Vector<T> low = Load(x), high = Load(x + kLanes);
      Store(to, low);
      Store(to + kLanes, high);
    }
  }
  const int64_t left = n - whole * kPanel<T>;
  if (left == 0) return;
  from += whole * kPanel<T>;
  panels += whole * panel_step;
  for (int64_t row = 0; row < k; ++row, from += from_step, panels += kPanel<T>) {
    Store(panels, LoadSome(from, left));
    Store(panels + kLanes, LoadSome(from + kLanes, left - kLanes));
  }
}

// Panels of a matrix that is stored the other way round: `from` holds n rows of k, `from_step` apart.
template <typename T>
inline void PackTurnedPanels(int64_t k, int64_t n, const T* from, int64_t from_step, T* panels,
                             int64_t panel_step) {
  constexpr int64_t kLanes = kVectorLanes<T>;
  for (int64_t first = 0; first < n; first += kPanel<T>, panels += panel_step) {
    for (int64_t half = 0; half < kPanel<T>; half += kLanes) {
      const T* rows = from + (first + half) * from_step;
      const int64_t valid = n - first - half;
      int64_t row = 0;
      for (; valid >= kLanes && row + kLanes <= k; row += kLanes)
        TransposeTile(rows + row, from_step, panels + row * kPanel<T> + half, kPanel<T>);
      for (; row < k; ++row) {
        T* to = panels + row * kPanel<T> + half;
        for (int64_t i = 0; i < kLanes; ++i) to[i] = i < valid ? rows[i * from_step + row] : T(0);
      }
    }
  }
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
