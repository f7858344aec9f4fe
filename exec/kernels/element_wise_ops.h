// SPDX-License-Identifier: Apache-2.0
// The names of element-wise ops, for every kind of device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "exec/loops/loops.h"

namespace lanescope::exec {

inline constexpr std::pair<std::string_view, UnaryOp> kUnaryOps[] = {
    {"Abs", UnaryOp::kAbs},           {"Neg", UnaryOp::kNeg},
    {"Sign", UnaryOp::kSign},         {"Square", UnaryOp::kSquare},
    {"Sqrt", UnaryOp::kSqrt},         {"Rsqrt", UnaryOp::kRsqrt},
    {"Inv", UnaryOp::kReciprocal},    {"Reciprocal", UnaryOp::kReciprocal},
    {"Exp", UnaryOp::kExp},           {"Expm1", UnaryOp::kExpm1},
    {"Log", UnaryOp::kLog},           {"Log1p", UnaryOp::kLog1p},
    {"Tanh", UnaryOp::kTanh},         {"Sigmoid", UnaryOp::kSigmoid},
    {"Erf", UnaryOp::kErf},           {"Erfc", UnaryOp::kErfc},
    {"Floor", UnaryOp::kFloor},       {"Ceil", UnaryOp::kCeil},
    {"Round", UnaryOp::kRound},       {"Rint", UnaryOp::kRound},
    {"Sin", UnaryOp::kSin},           {"Cos", UnaryOp::kCos},
    {"Tan", UnaryOp::kTan},           {"Asin", UnaryOp::kAsin},
    {"Acos", UnaryOp::kAcos},         {"Atan", UnaryOp::kAtan},
    {"Sinh", UnaryOp::kSinh},         {"Cosh", UnaryOp::kCosh},
    {"Asinh", UnaryOp::kAsinh},       {"Acosh", UnaryOp::kAcosh},
    {"Atanh", UnaryOp::kAtanh},       {"Lgamma", UnaryOp::kLgamma},
    {"Digamma", UnaryOp::kDigamma},   {"Erfinv", UnaryOp::kErfinv},
    {"Ndtri", UnaryOp::kNdtri},       {"Invert", UnaryOp::kInvert},
    {"Relu", UnaryOp::kRelu},         {"Relu6", UnaryOp::kRelu6},
    {"Elu", UnaryOp::kElu},           {"Selu", UnaryOp::kSelu},
    {"Softplus", UnaryOp::kSoftplus}, {"Softsign", UnaryOp::kSoftsign}};

inline constexpr std::pair<std::string_view, TestOp> kTestOps[] = {
    {"IsNan", TestOp::kIsNan}, {"IsInf", TestOp::kIsInf}, {"IsFinite", TestOp::kIsFinite}};

inline constexpr std::pair<std::string_view, BinaryOp> kBinaryOps[] = {
    {"Add", BinaryOp::kAdd},
    {"AddV2", BinaryOp::kAdd},
    {"Sub", BinaryOp::kSub},
    {"Mul", BinaryOp::kMul},
    {"MulNoNan", BinaryOp::kMulNoNan},
    {"RealDiv", BinaryOp::kDiv},
    {"Div", BinaryOp::kDiv},
    {"TruncateDiv", BinaryOp::kTruncateDiv},
    {"DivNoNan", BinaryOp::kDivNoNan},
    {"FloorDiv", BinaryOp::kFloorDiv},
    {"Mod", BinaryOp::kTruncateMod},
    {"TruncateMod", BinaryOp::kTruncateMod},
    {"FloorMod", BinaryOp::kFloorMod},
    {"Pow", BinaryOp::kPow},
    {"Maximum", BinaryOp::kMaximum},
    {"Minimum", BinaryOp::kMinimum},
    {"SquaredDifference", BinaryOp::kSquaredDifference},
    {"Atan2", BinaryOp::kAtan2},
    {"Xdivy", BinaryOp::kXdivy},
    {"Xlogy", BinaryOp::kXlogy},
    {"Xlog1py", BinaryOp::kXlog1py},
    {"Zeta", BinaryOp::kZeta},
    {"Polygamma", BinaryOp::kPolygamma},
    {"BitwiseAnd", BinaryOp::kBitAnd},
    {"BitwiseOr", BinaryOp::kBitOr},
    {"BitwiseXor", BinaryOp::kBitXor},
    {"LeftShift", BinaryOp::kLeftShift},
    {"RightShift", BinaryOp::kRightShift},
};

inline constexpr std::pair<std::string_view, BinaryOp> kGradientOps[] = {
    {"TanhGrad", BinaryOp::kTanhGrad},         {"SigmoidGrad", BinaryOp::kSigmoidGrad},
    {"SqrtGrad", BinaryOp::kSqrtGrad},         {"RsqrtGrad", BinaryOp::kRsqrtGrad},
    {"InvGrad", BinaryOp::kReciprocalGrad},    {"ReciprocalGrad", BinaryOp::kReciprocalGrad},
    {"ReluGrad", BinaryOp::kReluGrad},         {"Relu6Grad", BinaryOp::kRelu6Grad},
    {"EluGrad", BinaryOp::kEluGrad},           {"SeluGrad", BinaryOp::kSeluGrad},
    {"SoftplusGrad", BinaryOp::kSoftplusGrad}, {"SoftsignGrad", BinaryOp::kSoftsignGrad},
};

inline constexpr std::pair<std::string_view, CompareOp> kCompareOps[] = {
    {"Equal", CompareOp::kEqual},     {"NotEqual", CompareOp::kNotEqual},
    {"Less", CompareOp::kLess},       {"LessEqual", CompareOp::kLessEqual},
    {"Greater", CompareOp::kGreater}, {"GreaterEqual", CompareOp::kGreaterEqual},
};

// The op of this name, which must be in the table.
template <typename Op, size_t n>
Op FindOp(const std::pair<std::string_view, Op> (&ops)[n], std::string_view name) {
  const auto* found = std::find_if(ops, ops + n, [&](const auto& entry) { return entry.first == name; });
  LANESCOPE_CHECK(found != ops + n);
  return found->second;
}

}  // namespace lanescope::exec
