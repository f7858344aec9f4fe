#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/element_wise.h"
#include "exec/functors/gradient.h"
#include "exec/functors/special.h"
#include "exec/functors/unary.h"

namespace lanescope::exec::cuda {
namespace {

// The op is chosen inside the kernel: one kernel for all ops that are rarely used.
template <typename T>
struct AnyUnary {
  UnaryOp op;
  __device__ T operator()(T x) const {
    namespace f = functors;
    switch (op) {
      case UnaryOp::kAbs:
        return f::Abs()(x);
      case UnaryOp::kNeg:
        return f::Neg()(x);
      case UnaryOp::kSign:
        return f::Sign()(x);
      case UnaryOp::kSquare:
        return f::Square()(x);
      case UnaryOp::kRound:
        return f::Round()(x);
      case UnaryOp::kRelu:
        return f::Relu()(x);
      case UnaryOp::kRelu6:
        return f::Relu6()(x);
      default:
        break;
    }
    if constexpr (std::is_integral_v<T>) {
      return f::Invert()(x);
    } else {
      return Transcendental(x);
    }
  }

 private:
  __device__ T Transcendental(T x) const {
    namespace f = functors;
    switch (op) {
      case UnaryOp::kSqrt:
        return f::Sqrt()(x);
      case UnaryOp::kRsqrt:
        return f::Rsqrt()(x);
      case UnaryOp::kReciprocal:
        return f::Reciprocal()(x);
      case UnaryOp::kExp:
        return f::Exp()(x);
      case UnaryOp::kExpm1:
        return f::Expm1()(x);
      case UnaryOp::kLog:
        return f::Log()(x);
      case UnaryOp::kLog1p:
        return f::Log1p()(x);
      case UnaryOp::kTanh:
        return f::Tanh()(x);
      case UnaryOp::kSigmoid:
        return f::Sigmoid()(x);
      case UnaryOp::kErf:
        return f::Erf()(x);
      case UnaryOp::kErfc:
        return f::Erfc()(x);
      case UnaryOp::kFloor:
        return f::Floor()(x);
      case UnaryOp::kCeil:
        return f::Ceil()(x);
      case UnaryOp::kSin:
        return f::Sin()(x);
      case UnaryOp::kCos:
        return f::Cos()(x);
      case UnaryOp::kTan:
        return f::Tan()(x);
      case UnaryOp::kAsin:
        return f::Asin()(x);
      case UnaryOp::kAcos:
        return f::Acos()(x);
      case UnaryOp::kAtan:
        return f::Atan()(x);
      case UnaryOp::kSinh:
        return f::Sinh()(x);
      case UnaryOp::kCosh:
        return f::Cosh()(x);
      case UnaryOp::kAsinh:
        return f::Asinh()(x);
      case UnaryOp::kAcosh:
        return f::Acosh()(x);
      case UnaryOp::kAtanh:
        return f::Atanh()(x);
      case UnaryOp::kLgamma:
        return f::Lgamma()(x);
      case UnaryOp::kDigamma:
        return f::Digamma()(x);
      case UnaryOp::kErfinv:
        return f::Erfinv()(x);
      case UnaryOp::kNdtri:
        return f::Ndtri()(x);
      case UnaryOp::kElu:
        return f::Elu()(x);
      case UnaryOp::kSelu:
        return f::Selu()(x);
      case UnaryOp::kSoftplus:
        return f::Softplus()(x);
      case UnaryOp::kSoftsign:
        return f::Softsign()(x);
      default:
        return x;
    }
  }
};

template <typename T>
struct AnyTest {
  TestOp op;
  __device__ bool operator()(T x) const {
    switch (op) {
      case TestOp::kIsNan:
        return functors::IsNan()(x);
      case TestOp::kIsInf:
        return functors::IsInf()(x);
      default:
        return functors::IsFinite()(x);
    }
  }
};

struct LogicalNot {
  __device__ uint8_t operator()(uint8_t x) const { return x == 0; }
};

// Ops that networks launch all the time have kernels of their own.
bool RunFrequent(Launch& launch, UnaryOp op, int64_t n, const void* x, void* y) {
  switch (op) {
    case UnaryOp::kNeg:
      Map<float, float>(launch, functors::Neg(), n, x, y);
      return true;
    case UnaryOp::kSquare:
      Map<float, float>(launch, functors::Square(), n, x, y);
      return true;
    case UnaryOp::kSqrt:
      Map<float, float>(launch, functors::Sqrt(), n, x, y);
      return true;
    case UnaryOp::kExp:
      Map<float, float>(launch, functors::Exp(), n, x, y);
      return true;
    case UnaryOp::kTanh:
      Map<float, float>(launch, functors::Tanh(), n, x, y);
      return true;
    case UnaryOp::kSigmoid:
      Map<float, float>(launch, functors::Sigmoid(), n, x, y);
      return true;
    case UnaryOp::kRelu:
      Map<float, float>(launch, functors::Relu(), n, x, y);
      return true;
    default:
      return false;
  }
}

}  // namespace

void RunUnary(Launch& launch, UnaryOp op, LoopType type, int64_t n, const void* x, void* y) {
  switch (type) {
    case LoopType::kFloat:
      if (!RunFrequent(launch, op, n, x, y)) Map<float, float>(launch, AnyUnary<float>{op}, n, x, y);
      return;
    case LoopType::kDouble:
      return Map<double, double>(launch, AnyUnary<double>{op}, n, x, y);
    case LoopType::kInt32:
      return Map<int32_t, int32_t>(launch, AnyUnary<int32_t>{op}, n, x, y);
    default:
      return Map<int64_t, int64_t>(launch, AnyUnary<int64_t>{op}, n, x, y);
  }
}

void RunTest(Launch& launch, TestOp op, LoopType type, int64_t n, const void* x, void* y) {
  if (type == LoopType::kFloat) return Map<float, bool>(launch, AnyTest<float>{op}, n, x, y);
  Map<double, bool>(launch, AnyTest<double>{op}, n, x, y);
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
