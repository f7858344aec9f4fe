// SPDX-License-Identifier: Apache-2.0
// The part of a fused kernel's text that multiplies tiles, the same for all launches with products. Private
// to exec/cuda/fused_text.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "core/graph/graph.h"

namespace lanescope::exec::cuda {

inline constexpr int kProductThreads = 256;  // 16 by 16, over the rows and columns of a tile
int TileSize(DataType dtype);                // rows and columns of a tile

// Functions on tiles of float or double, which are called T there. 36 KiB of shared memory.
std::string ProductTilesText(DataType dtype);

}  // namespace lanescope::exec::cuda
