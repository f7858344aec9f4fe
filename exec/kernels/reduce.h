// SPDX-License-Identifier: Apache-2.0
// Reduction of a dense tensor over some of its dimensions, in blocks whose borders depend on the shape alone.
#pragma once

#include "exec/kernels/reduction_plan.h"

namespace lanescope::exec {

// result[kept dimensions, row-major] = op over the others; the op's identity where nothing is reduced into an
// element. `dtype` is one of the loops' types; `result` holds the product of the kept dimensions.
void ReduceTensor(WorkerTeam& team, ReduceOp op, LoopType type, int64_t element_bytes, const Shape& shape,
                  const ReducedDims& reduced, const void* x, void* result);

}  // namespace lanescope::exec
