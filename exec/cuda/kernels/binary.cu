#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/functors/binary.h"
#include "exec/functors/gradient.h"

namespace lanescope::exec::cuda {
namespace {

template <typename T>
struct AnyBinary {
  BinaryOp op;
  __device__ T operator()(T a, T b) const {
    namespace f = functors;
    switch (op) {
      case BinaryOp::kAdd:
        return f::Add()(a, b);
      case BinaryOp::kSub:
        return f::Sub()(a, b);
      case BinaryOp::kMul:
        return f::Mul()(a, b);
      case BinaryOp::kDiv:
        return f::Div()(a, b);
      case BinaryOp::kTruncateDiv:
        return f::TruncateDiv()(a, b);
      case BinaryOp::kFloorDiv:
        return f::FloorDiv()(a, b);
      case BinaryOp::kTruncateMod:
        return f::TruncateMod()(a, b);
      case BinaryOp::kFloorMod:
        return f::FloorMod()(a, b);
      case BinaryOp::kPow:
        return f::Pow()(a, b);
      case BinaryOp::kMaximum:
        return f::Maximum()(a, b);
      case BinaryOp::kMinimum:
        return f::Minimum()(a, b);
      case BinaryOp::kSquaredDifference:
        return f::SquaredDifference()(a, b);
      case BinaryOp::kReluGrad:
        return f::ReluGrad()(a, b);
      case BinaryOp::kRelu6Grad:
        return f::Relu6Grad()(a, b);
      default:
        break;
    }
    if constexpr (std::is_integral_v<T>) {
      return Bits(a, b);
    } else {
      return Floating(a, b);
    }
  }

 private:
  __device__ T Bits(T a, T b) const {
    switch (op) {
      case BinaryOp::kBitAnd:
        return functors::BitAnd()(a, b);
      case BinaryOp::kBitOr:
        return functors::BitOr()(a, b);
      case BinaryOp::kBitXor:
        return functors::BitXor()(a, b);
      case BinaryOp::kLeftShift:
        return functors::LeftShift()(a, b);
      default:
        return functors::RightShift()(a, b);
    }
  }
  __device__ T Floating(T a, T b) const {
    namespace f = functors;
    switch (op) {
      case BinaryOp::kMulNoNan:
        return f::MulNoNan()(a, b);
      case BinaryOp::kDivNoNan:
        return f::DivNoNan()(a, b);
      case BinaryOp::kAtan2:
        return f::Atan2()(a, b);
      case BinaryOp::kXdivy:
        return f::Xdivy()(a, b);
      case BinaryOp::kXlogy:
        return f::Xlogy()(a, b);
      case BinaryOp::kXlog1py:
        return f::Xlog1py()(a, b);
      case BinaryOp::kTanhGrad:
        return f::TanhGrad()(a, b);
      case BinaryOp::kSigmoidGrad:
        return f::SigmoidGrad()(a, b);
      case BinaryOp::kSqrtGrad:
        return f::SqrtGrad()(a, b);
      case BinaryOp::kRsqrtGrad:
        return f::RsqrtGrad()(a, b);
      case BinaryOp::kReciprocalGrad:
        return f::ReciprocalGrad()(a, b);
      case BinaryOp::kEluGrad:
        return f::EluGrad()(a, b);
      case BinaryOp::kSeluGrad:
        return f::SeluGrad()(a, b);
      case BinaryOp::kSoftplusGrad:
        return f::SoftplusGrad()(a, b);
      default:
        return f::SoftsignGrad()(a, b);
    }
  }
};

bool RunFrequent(Launch& launch, BinaryOp op, const BroadcastMap<2>& map, const void* a, const void* b,
                 void* y) {
  namespace f = functors;
  switch (op) {
    case BinaryOp::kAdd:
      MapPairs<float, float>(launch, f::Add(), map, a, b, y);
      return true;
    case BinaryOp::kSub:
      MapPairs<float, float>(launch, f::Sub(), map, a, b, y);
      return true;
    case BinaryOp::kMul:
      MapPairs<float, float>(launch, f::Mul(), map, a, b, y);
      return true;
    case BinaryOp::kDiv:
      MapPairs<float, float>(launch, f::Div(), map, a, b, y);
      return true;
    case BinaryOp::kMaximum:
      MapPairs<float, float>(launch, f::Maximum(), map, a, b, y);
      return true;
    case BinaryOp::kTanhGrad:
      MapPairs<float, float>(launch, f::TanhGrad(), map, a, b, y);
      return true;
    case BinaryOp::kReluGrad:
      MapPairs<float, float>(launch, f::ReluGrad(), map, a, b, y);
      return true;
    default:
      return false;
  }
}

template <typename T>
struct AnyCompare {
  CompareOp op;
  __device__ bool operator()(T a, T b) const {
    switch (op) {
      case CompareOp::kEqual:
        return functors::Equal()(a, b);
      case CompareOp::kNotEqual:
        return functors::NotEqual()(a, b);
      case CompareOp::kLess:
        return functors::Less()(a, b);
      case CompareOp::kLessEqual:
        return functors::LessEqual()(a, b);
      case CompareOp::kGreater:
        return functors::Greater()(a, b);
      default:
        return functors::GreaterEqual()(a, b);
    }
  }
};

struct AnyBytes {
  ByteOp op;
  __device__ uint8_t operator()(uint8_t a, uint8_t b) const {
    switch (op) {
      case ByteOp::kAnd:
        return a & b;
      case ByteOp::kOr:
        return a | b;
      case ByteOp::kSame:
        return a == b;
      default:
        return a != b;
    }
  }
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

void RunBinary(Launch& launch, BinaryOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
               const void* b, void* y) {
  switch (type) {
    case LoopType::kFloat:
      if (!RunFrequent(launch, op, map, a, b, y)) {
        MapPairs<float, float>(launch, AnyBinary<float>{op}, map, a, b, y);
      }
      return;
    case LoopType::kDouble:
      return MapPairs<double, double>(launch, AnyBinary<double>{op}, map, a, b, y);
    case LoopType::kInt32:
      return MapPairs<int32_t, int32_t>(launch, AnyBinary<int32_t>{op}, map, a, b, y);
    default:
      return MapPairs<int64_t, int64_t>(launch, AnyBinary<int64_t>{op}, map, a, b, y);
  }
}

void RunCompare(Launch& launch, CompareOp op, LoopType type, const BroadcastMap<2>& map, const void* a,
                const void* b, void* y) {
  switch (type) {
    case LoopType::kFloat:
      return MapPairs<float, bool>(launch, AnyCompare<float>{op}, map, a, b, y);
    case LoopType::kDouble:
      return MapPairs<double, bool>(launch, AnyCompare<double>{op}, map, a, b, y);
    case LoopType::kInt32:
      return MapPairs<int32_t, bool>(launch, AnyCompare<int32_t>{op}, map, a, b, y);
    default:
      return MapPairs<int64_t, bool>(launch, AnyCompare<int64_t>{op}, map, a, b, y);
  }
}

void RunBytes(Launch& launch, ByteOp op, const BroadcastMap<2>& map, const void* a, const void* b, void* y) {
  MapPairs<uint8_t, uint8_t>(launch, AnyBytes{op}, map, a, b, y);
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
