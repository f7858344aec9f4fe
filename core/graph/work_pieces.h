// SPDX-License-Identifier: Apache-2.0
// How many of a device's workers a launch keeps busy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/graph/op.h"

namespace lanescope {

// Kernels hand their loops out in pieces, of this many elements or floating-point operations, so that a small
// op stays on one worker.
inline constexpr int64_t kPieceElements = 16384;
inline constexpr int64_t kPieceFlops = 2'000'000;

// Between 1 and `workers`.
inline int WorkersFor(const OpWork& work, int workers) {
  // A float read and a float written an element.
  constexpr int64_t kBytesPerElement = 8;
  const int64_t pieces = std::max(work.bytes / (kBytesPerElement * kPieceElements), work.flops / kPieceFlops);
  return static_cast<int>(std::clamp<int64_t>(pieces, 1, std::max(1, workers)));
}

}  // namespace lanescope
