// SPDX-License-Identifier: Apache-2.0
// Sorting of updates whose rows are given by number or by coordinates.
#pragma once

#include "exec/cuda/kernels/sparse.h"

namespace lanescope::exec::cuda {

// As SortUpdates of sparse.h; with map.depth >= 0 the rows are named by coordinates.
SortedUpdates SortUpdates(Launch& launch, int64_t reserved_bytes, int64_t rows, int64_t updates,
                          IndexReader row_of, const CoordinateMap& map);

}  // namespace lanescope::exec::cuda
