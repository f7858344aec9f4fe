// SPDX-License-Identifier: Apache-2.0
// Reductions on device memory. The order of additions depends on the shape alone.
#pragma once

#include <cstdint>

#include "exec/kernels/reduction_plan.h"

namespace lanescope::exec::cuda {

class Launch;

// result[kept dimensions, row-major] = op over the dimensions that are `gone`; the op's identity where there
// is nothing. Types: float, double, int32, int64, and uint8 or bool for kMax (any) and kMin (all). Takes
// scratch memory.
void RunReduce(Launch& launch, const ReduceSpec& spec, DataType dtype, const Shape& shape,
               const ReducedDims& gone, const void* x, void* result);

// x to [outer, inner] of int32 or int64.
void RunArg(Launch& launch, const ArgPlan& plan, DataType dtype, const void* x, int index_bytes,
            void* result);
void RunScan(Launch& launch, const ScanPlan& plan, LoopType type, const void* x, void* y);

void RunTopK(Launch& launch, const TopKPlan& plan, LoopType type, const void* x, void* values,
             int32_t* numbers);
// Whether fewer than *k classes are more probable than the target; false for a target out of range or a
// prediction that is not finite. targets and k (in device memory) are of index_bytes each.
void RunInTopK(Launch& launch, int64_t rows, int64_t classes, int index_bytes, const float* predictions,
               const void* targets, const void* k, bool* result);

}  // namespace lanescope::exec::cuda
