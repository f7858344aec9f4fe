// Reductions on device memory. The order of additions depends on the shape alone.
#pragma once

#include <array>
#include <cstdint>

#include "core/dtype.h"
#include "core/shape.h"
#include "exec/loops/loops.h"

namespace lanescope::exec::cuda {

class Launch;

// What becomes of a total.
enum class Finish : int {
  kNone,
  kDivide,  // by ReduceSpec::divisor; integers: toward zero, and 0 by 0 is 0
  kSquareRoot,
};

struct ReduceSpec {
  ReduceOp op = ReduceOp::kSum;
  Finish finish = Finish::kNone;
  int64_t divisor = 1;
};

// result[kept dimensions, row-major] = op over the dimensions that are `gone`; the op's identity where there
// is nothing. Types: float, double, int32, int64, and uint8 or bool for kMax (any) and kMin (all). Takes
// scratch memory.
void RunReduce(Launch& launch, const ReduceSpec& spec, DataType dtype, const Shape& shape,
               const std::array<bool, Shape::kMaxRank>& gone, const void* x, void* result);

// The index of the first largest (smallest) element along a dimension: x [outer, length, inner] to [outer,
// inner] of int32 or int64. A NaN is never larger or smaller. length > 0.
void RunArg(Launch& launch, bool largest, DataType dtype, int64_t outer, int64_t length, int64_t inner,
            const void* x, int index_bytes, void* result);

// Running sums (products) along a dimension of [outer, length, inner].
struct ScanSpec {
  bool product = false;
  bool exclusive = false;
  bool reverse = false;
};
void RunScan(Launch& launch, const ScanSpec& spec, LoopType type, int64_t outer, int64_t length,
             int64_t inner, const void* x, void* y);

// The largest `k` of each row of `columns`, largest first; of equal ones the first comes first.
void RunTopK(Launch& launch, LoopType type, int64_t rows, int64_t columns, int64_t k, const void* x,
             void* values, int32_t* numbers);
// Whether fewer than *k classes are more probable than the target; false for a target out of range or a
// prediction that is not finite. targets and k (in device memory) are of index_bytes each.
void RunInTopK(Launch& launch, int64_t rows, int64_t classes, int index_bytes, const float* predictions,
               const void* targets, const void* k, bool* result);

}  // namespace lanescope::exec::cuda
