#include "exec/functors/unary.h"

#include "exec/functors/special.h"
#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename F, typename T, typename R>
void Map(int64_t n, const void* x, void* y) {
  const T* in = static_cast<const T*>(x);
  R* out = static_cast<R*>(y);
  const F op{};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = op(in[i]);
}

template <typename F>
void SetFloating(UnaryLoop (&row)[kLoopTypes]) {
  row[static_cast<size_t>(LoopType::kFloat)] = Map<F, float, float>;
  row[static_cast<size_t>(LoopType::kDouble)] = Map<F, double, double>;
}

template <typename F>
void SetIntegral(UnaryLoop (&row)[kLoopTypes]) {
  row[static_cast<size_t>(LoopType::kInt32)] = Map<F, int32_t, int32_t>;
  row[static_cast<size_t>(LoopType::kInt64)] = Map<F, int64_t, int64_t>;
}

template <typename F>
void SetAll(UnaryLoop (&row)[kLoopTypes]) {
  SetFloating<F>(row);
  SetIntegral<F>(row);
}

template <typename F>
void SetTest(UnaryLoop (&row)[kLoopTypes]) {
  row[static_cast<size_t>(LoopType::kFloat)] = Map<F, float, bool>;
  row[static_cast<size_t>(LoopType::kDouble)] = Map<F, double, bool>;
}

struct LogicalNot {
  bool operator()(bool x) const { return !x; }
};

}  // namespace

void FillUnary(Loops& loops) {
  const auto at = [&](UnaryOp op) -> UnaryLoop(&)[kLoopTypes] {
    return loops.unary[static_cast<size_t>(op)];
  };
  SetAll<functors::Abs>(at(UnaryOp::kAbs));
  SetAll<functors::Neg>(at(UnaryOp::kNeg));
  SetAll<functors::Sign>(at(UnaryOp::kSign));
  SetAll<functors::Square>(at(UnaryOp::kSquare));
  SetAll<functors::Round>(at(UnaryOp::kRound));
  SetAll<functors::Relu>(at(UnaryOp::kRelu));
  SetAll<functors::Relu6>(at(UnaryOp::kRelu6));
  SetIntegral<functors::Invert>(at(UnaryOp::kInvert));
  SetFloating<functors::Sqrt>(at(UnaryOp::kSqrt));
  SetFloating<functors::Rsqrt>(at(UnaryOp::kRsqrt));
  SetFloating<functors::Reciprocal>(at(UnaryOp::kReciprocal));
  SetFloating<functors::Exp>(at(UnaryOp::kExp));
  SetFloating<functors::Expm1>(at(UnaryOp::kExpm1));
  SetFloating<functors::Log>(at(UnaryOp::kLog));
  SetFloating<functors::Log1p>(at(UnaryOp::kLog1p));
  SetFloating<functors::Tanh>(at(UnaryOp::kTanh));
  SetFloating<functors::Sigmoid>(at(UnaryOp::kSigmoid));
  SetFloating<functors::Erf>(at(UnaryOp::kErf));
  SetFloating<functors::Erfc>(at(UnaryOp::kErfc));
  SetFloating<functors::Floor>(at(UnaryOp::kFloor));
  SetFloating<functors::Ceil>(at(UnaryOp::kCeil));
  SetFloating<functors::Sin>(at(UnaryOp::kSin));
  SetFloating<functors::Cos>(at(UnaryOp::kCos));
  SetFloating<functors::Tan>(at(UnaryOp::kTan));
  SetFloating<functors::Asin>(at(UnaryOp::kAsin));
  SetFloating<functors::Acos>(at(UnaryOp::kAcos));
  SetFloating<functors::Atan>(at(UnaryOp::kAtan));
  SetFloating<functors::Sinh>(at(UnaryOp::kSinh));
  SetFloating<functors::Cosh>(at(UnaryOp::kCosh));
  SetFloating<functors::Asinh>(at(UnaryOp::kAsinh));
  SetFloating<functors::Acosh>(at(UnaryOp::kAcosh));
  SetFloating<functors::Atanh>(at(UnaryOp::kAtanh));
  SetFloating<functors::Lgamma>(at(UnaryOp::kLgamma));
  SetFloating<functors::Digamma>(at(UnaryOp::kDigamma));
  SetFloating<functors::Erfinv>(at(UnaryOp::kErfinv));
  SetFloating<functors::Ndtri>(at(UnaryOp::kNdtri));
  SetFloating<functors::Elu>(at(UnaryOp::kElu));
  SetFloating<functors::Selu>(at(UnaryOp::kSelu));
  SetFloating<functors::Softplus>(at(UnaryOp::kSoftplus));
  SetFloating<functors::Softsign>(at(UnaryOp::kSoftsign));
  SetTest<functors::IsNan>(loops.test[static_cast<size_t>(TestOp::kIsNan)]);
  SetTest<functors::IsInf>(loops.test[static_cast<size_t>(TestOp::kIsInf)]);
  SetTest<functors::IsFinite>(loops.test[static_cast<size_t>(TestOp::kIsFinite)]);
  loops.logical_not = Map<LogicalNot, bool, bool>;
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
