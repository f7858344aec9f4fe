// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
PairLaunch RealPairOf(BinaryOp op) {
  PairLaunch launch = nullptr;
  functors::ForEachBinary(FindLaunch<T, T, BinaryOp, PairLaunch>{op, launch});
  return launch;
}

}  // namespace

void RunBinary(Launch& launch, BinaryOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
               const void* b, void* y) {
  switch (type) {
    case LoopType::kFloat:
      return RealPairOf<float>(op)(launch, map, a, b, y);
    case LoopType::kDouble:
      return RealPairOf<double>(op)(launch, map, a, b, y);
    default:
      return RunIntegerBinary(launch, op, type, map, a, b, y);
  }
}

}  // namespace lanescope::exec::cuda
