// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
PairLaunch IntegerPairOf(BinaryOp op) {
  PairLaunch launch = nullptr;
  functors::ForEachBinary(FindLaunch<T, T, BinaryOp, PairLaunch>{op, launch});
  return launch;
}

}  // namespace

void RunIntegerBinary(Launch& launch, BinaryOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
                      const void* b, void* y) {
  const PairLaunch run = type == LoopType::kInt32 ? IntegerPairOf<int32_t>(op) : IntegerPairOf<int64_t>(op);
  run(launch, map, a, b, y);
}

}  // namespace lanescope::exec::cuda
