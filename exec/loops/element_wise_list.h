// SPDX-License-Identifier: Apache-2.0
// Which arithmetic each element-wise op is, and the types that it exists for: one list, from which the loops
// of host memory and the kernels of devices are made.
#pragma once

#include "exec/functors/binary.h"
#include "exec/functors/gradient.h"
#include "exec/functors/special.h"
#include "exec/functors/unary.h"
#include "exec/loops/loops.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

// Only the types that arithmetic loops exist for are given.
template <typename T>
inline constexpr exec::LoopType kTypeOf = std::is_same_v<T, float>     ? exec::LoopType::kFloat
                                          : std::is_same_v<T, double>  ? exec::LoopType::kDouble
                                          : std::is_same_v<T, int32_t> ? exec::LoopType::kInt32
                                                                       : exec::LoopType::kInt64;

// Calls visit.template operator()<F, types...>(op) for an op that is F of these types.
template <typename F, typename Op, typename Visit>
void VisitAll(Op op, const Visit& visit) {
  visit.template operator()<F, float, double, int32_t, int64_t>(op);
}
template <typename F, typename Op, typename Visit>
void VisitFloating(Op op, const Visit& visit) {
  visit.template operator()<F, float, double>(op);
}
template <typename F, typename Op, typename Visit>
void VisitIntegral(Op op, const Visit& visit) {
  visit.template operator()<F, int32_t, int64_t>(op);
}

template <typename Visit>
void ForEachUnary(const Visit& visit) {
  using exec::UnaryOp;
  VisitAll<Abs>(UnaryOp::kAbs, visit);
  VisitAll<Neg>(UnaryOp::kNeg, visit);
  VisitAll<Sign>(UnaryOp::kSign, visit);
  VisitAll<Square>(UnaryOp::kSquare, visit);
  VisitAll<Round>(UnaryOp::kRound, visit);
  VisitAll<Relu>(UnaryOp::kRelu, visit);
  VisitAll<Relu6>(UnaryOp::kRelu6, visit);
  VisitIntegral<Invert>(UnaryOp::kInvert, visit);
  VisitFloating<Sqrt>(UnaryOp::kSqrt, visit);
  VisitFloating<Rsqrt>(UnaryOp::kRsqrt, visit);
  VisitFloating<Reciprocal>(UnaryOp::kReciprocal, visit);
  VisitFloating<Exp>(UnaryOp::kExp, visit);
  VisitFloating<Expm1>(UnaryOp::kExpm1, visit);
  VisitFloating<Log>(UnaryOp::kLog, visit);
  VisitFloating<Log1p>(UnaryOp::kLog1p, visit);
  VisitFloating<Tanh>(UnaryOp::kTanh, visit);
  VisitFloating<Sigmoid>(UnaryOp::kSigmoid, visit);
  VisitFloating<Erf>(UnaryOp::kErf, visit);
  VisitFloating<Erfc>(UnaryOp::kErfc, visit);
  VisitFloating<Floor>(UnaryOp::kFloor, visit);
  VisitFloating<Ceil>(UnaryOp::kCeil, visit);
  VisitFloating<Sin>(UnaryOp::kSin, visit);
  VisitFloating<Cos>(UnaryOp::kCos, visit);
  VisitFloating<Tan>(UnaryOp::kTan, visit);
  VisitFloating<Asin>(UnaryOp::kAsin, visit);
  VisitFloating<Acos>(UnaryOp::kAcos, visit);
  VisitFloating<Atan>(UnaryOp::kAtan, visit);
  VisitFloating<Sinh>(UnaryOp::kSinh, visit);
  VisitFloating<Cosh>(UnaryOp::kCosh, visit);
  VisitFloating<Asinh>(UnaryOp::kAsinh, visit);
  VisitFloating<Acosh>(UnaryOp::kAcosh, visit);
  VisitFloating<Atanh>(UnaryOp::kAtanh, visit);
  VisitFloating<Lgamma>(UnaryOp::kLgamma, visit);
  VisitFloating<Digamma>(UnaryOp::kDigamma, visit);
  VisitFloating<Erfinv>(UnaryOp::kErfinv, visit);
  VisitFloating<Ndtri>(UnaryOp::kNdtri, visit);
  VisitFloating<Elu>(UnaryOp::kElu, visit);
  VisitFloating<Selu>(UnaryOp::kSelu, visit);
  VisitFloating<Softplus>(UnaryOp::kSoftplus, visit);
  VisitFloating<Softsign>(UnaryOp::kSoftsign, visit);
}

template <typename Visit>
void ForEachTest(const Visit& visit) {
  using exec::TestOp;
  VisitFloating<IsNan>(TestOp::kIsNan, visit);
  VisitFloating<IsInf>(TestOp::kIsInf, visit);
  VisitFloating<IsFinite>(TestOp::kIsFinite, visit);
}

template <typename Visit>
void ForEachBinary(const Visit& visit) {
  using exec::BinaryOp;
  VisitAll<Add>(BinaryOp::kAdd, visit);
  VisitAll<Sub>(BinaryOp::kSub, visit);
  VisitAll<Mul>(BinaryOp::kMul, visit);
  VisitAll<Div>(BinaryOp::kDiv, visit);
  VisitAll<TruncateDiv>(BinaryOp::kTruncateDiv, visit);
  VisitAll<FloorDiv>(BinaryOp::kFloorDiv, visit);
  VisitAll<TruncateMod>(BinaryOp::kTruncateMod, visit);
  VisitAll<FloorMod>(BinaryOp::kFloorMod, visit);
  VisitAll<Pow>(BinaryOp::kPow, visit);
  VisitAll<Maximum>(BinaryOp::kMaximum, visit);
  VisitAll<Minimum>(BinaryOp::kMinimum, visit);
  VisitAll<SquaredDifference>(BinaryOp::kSquaredDifference, visit);
  VisitAll<ReluGrad>(BinaryOp::kReluGrad, visit);
  VisitAll<Relu6Grad>(BinaryOp::kRelu6Grad, visit);
  VisitIntegral<BitAnd>(BinaryOp::kBitAnd, visit);
  VisitIntegral<BitOr>(BinaryOp::kBitOr, visit);
  VisitIntegral<BitXor>(BinaryOp::kBitXor, visit);
  VisitIntegral<LeftShift>(BinaryOp::kLeftShift, visit);
  VisitIntegral<RightShift>(BinaryOp::kRightShift, visit);
  VisitFloating<MulNoNan>(BinaryOp::kMulNoNan, visit);
  VisitFloating<DivNoNan>(BinaryOp::kDivNoNan, visit);
  VisitFloating<Atan2>(BinaryOp::kAtan2, visit);
  VisitFloating<Xdivy>(BinaryOp::kXdivy, visit);
  VisitFloating<Xlogy>(BinaryOp::kXlogy, visit);
  VisitFloating<Xlog1py>(BinaryOp::kXlog1py, visit);
  VisitFloating<Zeta>(BinaryOp::kZeta, visit);
  VisitFloating<Polygamma>(BinaryOp::kPolygamma, visit);
  VisitFloating<TanhGrad>(BinaryOp::kTanhGrad, visit);
  VisitFloating<SigmoidGrad>(BinaryOp::kSigmoidGrad, visit);
  VisitFloating<SqrtGrad>(BinaryOp::kSqrtGrad, visit);
  VisitFloating<RsqrtGrad>(BinaryOp::kRsqrtGrad, visit);
  VisitFloating<ReciprocalGrad>(BinaryOp::kReciprocalGrad, visit);
  VisitFloating<EluGrad>(BinaryOp::kEluGrad, visit);
  VisitFloating<SeluGrad>(BinaryOp::kSeluGrad, visit);
  VisitFloating<SoftplusGrad>(BinaryOp::kSoftplusGrad, visit);
  VisitFloating<SoftsignGrad>(BinaryOp::kSoftsignGrad, visit);
}

template <typename Visit>
void ForEachCompare(const Visit& visit) {
  using exec::CompareOp;
  VisitAll<Equal>(CompareOp::kEqual, visit);
  VisitAll<NotEqual>(CompareOp::kNotEqual, visit);
  VisitAll<Less>(CompareOp::kLess, visit);
  VisitAll<LessEqual>(CompareOp::kLessEqual, visit);
  VisitAll<Greater>(CompareOp::kGreater, visit);
  VisitAll<GreaterEqual>(CompareOp::kGreaterEqual, visit);
}

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
