// SPDX-License-Identifier: Apache-2.0
// Element-wise bodies on device memory. The output may be the memory of an operand of its size and type.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "exec/cuda/kernels/broadcast_map.h"
#include "exec/loops/loops.h"

namespace lanescope::exec::cuda {

class Launch;

// y = op(x). The op must exist for the type (HostLoops() lists which do).
void RunUnary(Launch& launch, UnaryOp op, LoopType type, int64_t n, const void* x, void* y);
void RunTest(Launch& launch, TestOp op, LoopType type, int64_t n, const void* x, void* y);
void RunLogicalNot(Launch& launch, int64_t n, const void* x, void* y);
void RunLeakyRelu(Launch& launch, LoopType type, float alpha, int64_t n, const void* x, void* y);
void RunLeakyReluGrad(Launch& launch, LoopType type, float alpha, int64_t n, const void* dy, const void* x,
                      void* dx);
// The indices into kCastTypes of the two types, which differ.
void RunCast(Launch& launch, size_t from, size_t to, int64_t n, const void* x, void* y);

// y = op(a, b), broadcast.
void RunBinary(Launch& launch, BinaryOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
               const void* b, void* y);
// Runs int32 and int64 alone: a file of its own, since there are many.
void RunIntegerBinary(Launch& launch, BinaryOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
                      const void* b, void* y);
void RunCompare(Launch& launch, CompareOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
                const void* b, void* y);
// On bytes that hold 0 or 1, and equality of any bytes.
enum class ByteOp : int { kAnd, kOr, kSame, kDiffer };
void RunBytes(Launch& launch, ByteOp op, const BroadcastMap<2>& map, const void* a, const void* b, void* y);
// |a - b| < tolerance
void RunApproximateEqual(Launch& launch, LoopType type, float tolerance, int64_t n, const void* a,
                         const void* b, void* y);

// y = condition ? a : b by element size (1, 2, 4, 8).
void RunSelect(Launch& launch, int64_t element_bytes, const BroadcastMap<3>& map, const void* condition,
               const void* a, const void* b, void* y);
// y = max(min(t, high), low); limits broadcast.
void RunClip(Launch& launch, LoopType type, const BroadcastMap<3>& map, const void* t, const void* low,
             const void* high, void* y);
// y = the sum of `count` >= 1 inputs in their order; y may be the memory of any of them.
void RunAddN(Launch& launch, LoopType type, int64_t n, const void* const* inputs, int count, void* y);

}  // namespace lanescope::exec::cuda
