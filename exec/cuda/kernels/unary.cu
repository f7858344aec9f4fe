// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
UnaryLaunch UnaryOf(UnaryOp op) {
  UnaryLaunch launch = nullptr;
  functors::ForEachUnary(FindLaunch<T, T, UnaryOp, UnaryLaunch>{op, launch});
  return launch;
}

template <typename T>
UnaryLaunch TestOf(TestOp op) {
  UnaryLaunch launch = nullptr;
  functors::ForEachTest(FindLaunch<T, bool, TestOp, UnaryLaunch>{op, launch});
  return launch;
}

struct LogicalNot {
  __device__ uint8_t operator()(uint8_t x) const { return x == 0; }
};

}  // namespace

void RunUnary(Launch& launch, UnaryOp op, LoopType type, int64_t n, const void* x, void* y) {
  switch (type) {
    case LoopType::kFloat:
      return UnaryOf<float>(op)(launch, n, x, y);
    case LoopType::kDouble:
      return UnaryOf<double>(op)(launch, n, x, y);
    case LoopType::kInt32:
      return UnaryOf<int32_t>(op)(launch, n, x, y);
    default:
      return UnaryOf<int64_t>(op)(launch, n, x, y);
  }
}

void RunTest(Launch& launch, TestOp op, LoopType type, int64_t n, const void* x, void* y) {
  (type == LoopType::kFloat ? TestOf<float>(op) : TestOf<double>(op))(launch, n, x, y);
}

void RunLogicalNot(Launch& launch, int64_t n, const void* x, void* y) {
  Map<uint8_t, uint8_t>(launch, LogicalNot(), n, x, y);
}

void RunLeakyRelu(Launch& launch, LoopType type, float alpha, int64_t n, const void* x, void* y) {
  const functors::LeakyRelu op{static_cast<double>(alpha)};
  if (type == LoopType::kFloat) return Map<float, float>(launch, op, n, x, y);
  Map<double, double>(launch, op, n, x, y);
}

}  // namespace lanescope::exec::cuda
