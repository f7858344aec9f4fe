// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
PairLaunch CompareOf(CompareOp op) {
  PairLaunch launch = nullptr;
  functors::ForEachCompare(FindLaunch<T, bool, CompareOp, PairLaunch>{op, launch});
  return launch;
}

// On bytes that hold 0 or 1, and equality of any bytes.
struct LogicalAnd {
  __device__ uint8_t operator()(uint8_t a, uint8_t b) const { return a & b; }
};
struct LogicalOr {
  __device__ uint8_t operator()(uint8_t a, uint8_t b) const { return a | b; }
};

template <typename T>
struct Near {
  T tolerance;
  __device__ bool operator()(T a, T b) const { return (a > b ? a - b : b - a) < tolerance; }
};

template <int kOperands>
BroadcastMap<kOperands> DenseMap(int64_t n) {
  std::array<Shape, kOperands> shapes;
  shapes.fill(Shape{n});
  return MakeBroadcastMap<kOperands>(Shape{n}, shapes);
}

}  // namespace

void RunCompare(Launch& launch, CompareOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
                const void* b, void* y) {
  switch (type) {
    case LoopType::kFloat:
      return CompareOf<float>(op)(launch, map, a, b, y);
    case LoopType::kDouble:
      return CompareOf<double>(op)(launch, map, a, b, y);
    case LoopType::kInt32:
      return CompareOf<int32_t>(op)(launch, map, a, b, y);
    default:
      return CompareOf<int64_t>(op)(launch, map, a, b, y);
  }
}

void RunBytes(Launch& launch, ByteOp op, const BroadcastMap<2>& map, const void* a, const void* b, void* y) {
  switch (op) {
    case ByteOp::kAnd:
      return LaunchPairs<LogicalAnd, uint8_t, uint8_t>(launch, map, a, b, y);
    case ByteOp::kOr:
      return LaunchPairs<LogicalOr, uint8_t, uint8_t>(launch, map, a, b, y);
    case ByteOp::kSame:
      return LaunchPairs<functors::Equal, uint8_t, bool>(launch, map, a, b, y);
    case ByteOp::kDiffer:
      return LaunchPairs<functors::NotEqual, uint8_t, bool>(launch, map, a, b, y);
  }
}

void RunApproximateEqual(Launch& launch, LoopType type, float tolerance, int64_t n, const void* a,
                         const void* b, void* y) {
  if (type == LoopType::kFloat) {
    return MapPairs<float, bool>(launch, Near<float>{tolerance}, DenseMap<2>(n), a, b, y);
  }
  MapPairs<double, bool>(launch, Near<double>{tolerance}, DenseMap<2>(n), a, b, y);
}

void RunLeakyReluGrad(Launch& launch, LoopType type, float alpha, int64_t n, const void* dy, const void* x,
                      void* dx) {
  const functors::LeakyReluGrad op{static_cast<double>(alpha)};
  if (type == LoopType::kFloat) return MapPairs<float, float>(launch, op, DenseMap<2>(n), dy, x, dx);
  MapPairs<double, double>(launch, op, DenseMap<2>(n), dy, x, dx);
}

}  // namespace lanescope::exec::cuda
