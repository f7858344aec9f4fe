#include "exec/functors/binary.h"

#include "exec/functors/gradient.h"
#include "exec/loops/fill.h"
#include "exec/loops/pairwise.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename F>
void SetFloating(BinaryLoop (&row)[kLoopTypes]) {
  row[static_cast<size_t>(LoopType::kFloat)] = MapPairs<F, float, float>;
  row[static_cast<size_t>(LoopType::kDouble)] = MapPairs<F, double, double>;
}

template <typename F>
void SetIntegral(BinaryLoop (&row)[kLoopTypes]) {
  row[static_cast<size_t>(LoopType::kInt32)] = MapPairs<F, int32_t, int32_t>;
  row[static_cast<size_t>(LoopType::kInt64)] = MapPairs<F, int64_t, int64_t>;
}

template <typename F>
void SetAll(BinaryLoop (&row)[kLoopTypes]) {
  SetFloating<F>(row);
  SetIntegral<F>(row);
}

}  // namespace

void FillBinary(Loops& loops) {
  const auto at = [&](BinaryOp op) -> BinaryLoop(&)[kLoopTypes] {
    return loops.binary[static_cast<size_t>(op)];
  };
  SetAll<functors::Add>(at(BinaryOp::kAdd));
  SetAll<functors::Sub>(at(BinaryOp::kSub));
  SetAll<functors::Mul>(at(BinaryOp::kMul));
  SetAll<functors::Div>(at(BinaryOp::kDiv));
  SetAll<functors::TruncateDiv>(at(BinaryOp::kTruncateDiv));
  SetAll<functors::FloorDiv>(at(BinaryOp::kFloorDiv));
  SetAll<functors::TruncateMod>(at(BinaryOp::kTruncateMod));
  SetAll<functors::FloorMod>(at(BinaryOp::kFloorMod));
  SetAll<functors::Pow>(at(BinaryOp::kPow));
  SetAll<functors::Maximum>(at(BinaryOp::kMaximum));
  SetAll<functors::Minimum>(at(BinaryOp::kMinimum));
  SetAll<functors::SquaredDifference>(at(BinaryOp::kSquaredDifference));
  SetFloating<functors::MulNoNan>(at(BinaryOp::kMulNoNan));
  SetFloating<functors::DivNoNan>(at(BinaryOp::kDivNoNan));
  SetFloating<functors::Atan2>(at(BinaryOp::kAtan2));
  SetFloating<functors::Xdivy>(at(BinaryOp::kXdivy));
  SetFloating<functors::Xlogy>(at(BinaryOp::kXlogy));
  SetFloating<functors::Xlog1py>(at(BinaryOp::kXlog1py));
  SetIntegral<functors::BitAnd>(at(BinaryOp::kBitAnd));
  SetIntegral<functors::BitOr>(at(BinaryOp::kBitOr));
  SetIntegral<functors::BitXor>(at(BinaryOp::kBitXor));
  SetIntegral<functors::LeftShift>(at(BinaryOp::kLeftShift));
  SetIntegral<functors::RightShift>(at(BinaryOp::kRightShift));
  SetFloating<functors::TanhGrad>(at(BinaryOp::kTanhGrad));
  SetFloating<functors::SigmoidGrad>(at(BinaryOp::kSigmoidGrad));
  SetFloating<functors::SqrtGrad>(at(BinaryOp::kSqrtGrad));
  SetFloating<functors::RsqrtGrad>(at(BinaryOp::kRsqrtGrad));
  SetFloating<functors::ReciprocalGrad>(at(BinaryOp::kReciprocalGrad));
  SetAll<functors::ReluGrad>(at(BinaryOp::kReluGrad));
  SetAll<functors::Relu6Grad>(at(BinaryOp::kRelu6Grad));
  SetFloating<functors::EluGrad>(at(BinaryOp::kEluGrad));
  SetFloating<functors::SeluGrad>(at(BinaryOp::kSeluGrad));
  SetFloating<functors::SoftplusGrad>(at(BinaryOp::kSoftplusGrad));
  SetFloating<functors::SoftsignGrad>(at(BinaryOp::kSoftsignGrad));
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
