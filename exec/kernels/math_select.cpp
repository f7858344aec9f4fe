// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_plan.h"

namespace lanescope::exec {
namespace {

SelectLoop LoopOfSize(DataType dtype) {
  switch (ElementSize(dtype)) {
    case 1:
      return HostLoops().select_8;
    case 2:
      return HostLoops().select_16;
    case 4:
      return HostLoops().select_32;
    case 8:
      return HostLoops().select_64;
    default:
      ThrowUnsupportedType("Select", dtype);
  }
}

void SelectStrings(const BroadcastPlan& plan, const TensorRef& condition, const TensorRef& a,
                   const TensorRef& b, const TensorRef& y) {
  plan.ForEachPiece(0, plan.elements(), [&](const BroadcastPlan::Piece& piece) {
    for (int64_t k = 0; k < piece.rows * piece.n; ++k) {
      const int64_t row = k / piece.n;
      const int64_t i = k % piece.n;
      const auto at = [&](size_t operand) {
        return piece.offset[operand] + row * piece.row[operand] + i * piece.step[operand];
      };
      const bool chosen = condition.as<bool>()[at(0)];
      y.as<std::string>()[piece.begin + k] = chosen ? a.as<std::string>()[at(1)] : b.as<std::string>()[at(2)];
    }
  });
}

void SelectElements(KernelContext& context, const TriplePlan& triple) {
  const TensorRef& condition = context.input(0);
  const TensorRef& a = context.input(1);
  const TensorRef& b = context.input(2);
  const TensorRef& y = context.output();
  const BroadcastPlan plan = BroadcastPlan::Make(triple.shape, triple.operands);
  if (y.dtype == DataType::kString) return SelectStrings(plan, condition, a, b, y);
  const SelectLoop loop = LoopOfSize(y.dtype);
  const auto size = static_cast<int64_t>(ElementSize(y.dtype));
  context.team().ParallelFor(plan.elements(), kElementGrain, [&](int64_t begin, int64_t end) {
    plan.ForEachPiece(begin, end, [&](const BroadcastPlan::Piece& piece) {
      loop(piece.rows, piece.n, OperandOf(condition, piece, 0), OperandOf(a, piece, 1),
           OperandOf(b, piece, 2), y.as<char>() + piece.begin * size);
    });
  });
}

class ClipKernel final : public Kernel {
 public:
  explicit ClipKernel(const Node& node) {
    const auto type = static_cast<size_t>(LoopTypeOf(node.op, node.TypeAttr("T")));
    maximum_ = HostLoops().binary[static_cast<size_t>(BinaryOp::kMaximum)][type];
    minimum_ = HostLoops().binary[static_cast<size_t>(BinaryOp::kMinimum)][type];
  }

  void Compute(KernelContext& context) override {
    const TensorRef& t = context.input(0);
    PlanClip(context);
    const TensorRef& y = context.output();
    const auto size = static_cast<int64_t>(ElementSize(y.dtype));
    const auto limit = [&](int k, int64_t begin) {
      const bool one = context.input(k).NumElements() == 1;
      return Operand{context.input(k).as<char>() + (one ? 0 : begin * size), 0, one ? 0 : 1};
    };
    context.team().ParallelFor(t.NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
      alignas(64) char buffer[kBufferBytes];  // the output may be the memory of a limit
      for (int64_t first = begin; first < end; first += kBufferBytes / size) {
        const int64_t n = std::min(kBufferBytes / size, end - first);
        minimum_(1, n, {t.as<char>() + first * size, 0, 1}, limit(2, first), buffer);
        maximum_(1, n, {buffer, 0, 1}, limit(1, first), y.as<char>() + first * size);
      }
    });
  }

 private:
  static constexpr int64_t kBufferBytes = 8192;
  BinaryLoop maximum_;
  BinaryLoop minimum_;
};

}  // namespace

void RegisterSelectKernels(KernelRegistry& registry) {
  RegisterOp<PlanSelect, SelectElements>(registry, "Select");
  RegisterOp<PlanSelectV2, SelectElements>(registry, "SelectV2");
  registry.Register("ClipByValue", MakeKernel<ClipKernel>);
}

}  // namespace lanescope::exec
