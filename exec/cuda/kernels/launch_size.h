// SPDX-License-Identifier: Apache-2.0
// Sizes of launches.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lanescope::exec::cuda {

inline constexpr int kThreads = 256;

// Blocks of `threads` threads for `items`, one a thread; kernels walk the rest in steps of the whole grid.
inline unsigned BlocksFor(int64_t items, int threads = kThreads) {
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  return static_cast<unsigned>(std::clamp<int64_t>((items + threads - 1) / threads, 1, kMostBlocks));
}

}  // namespace lanescope::exec::cuda
