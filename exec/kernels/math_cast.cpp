// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>

#include "core/base/small_float.h"
#include "exec/kernels/element_wise.h"
#include "exec/kernels/small_floats.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

int CastIndex(DataType dtype) {
  const auto* found = std::find(std::begin(kCastTypes), std::end(kCastTypes), dtype);
  return found == std::end(kCastTypes) ? -1 : static_cast<int>(found - std::begin(kCastTypes));
}

// Types of 16 bits are cast by way of float.
DataType CastAs(DataType dtype) { return IsSmallFloat(dtype) ? DataType::kFloat : dtype; }

CastLoop CastBetween(DataType from, DataType to) {
  const int source = CastIndex(CastAs(from)), target = CastIndex(CastAs(to));
  if (source < 0 || target < 0) {
    Throw(Code::kUnimplemented, "Cast {} to {} is not supported", DataTypeName(from), DataTypeName(to));
  }
  return HostLoops().cast[static_cast<size_t>(source)][static_cast<size_t>(target)];
}

class CastKernel final : public LoopKernel {
 public:
  explicit CastKernel(const Node& node)
      : same_(node.TypeAttr("SrcT") == node.TypeAttr("DstT")),
        small_(IsSmallFloat(node.TypeAttr("SrcT")) || IsSmallFloat(node.TypeAttr("DstT"))),
        truncates_(node.BoolAttr("Truncate", false) && node.TypeAttr("DstT") == DataType::kBfloat16),
        loop_(same_ ? nullptr : CastBetween(node.TypeAttr("SrcT"), node.TypeAttr("DstT"))) {}

  void Compute(KernelContext& context) override {
    const TensorRef& x = context.input(0);
    const TensorRef& y = context.output();
    if (same_) {
      context.SetOutputShape(0, x.shape);
      return CopyTensor(context, 0, 0);
    }
    if (!small_) return RunUnary(context, loop_);
    context.SetOutputShape(0, x.shape);
    context.team().ParallelFor(x.NumElements(), kAtATime, [&](int64_t begin, int64_t end) {
      CastSmall(end - begin, x.dtype, ElementAt(x.dtype, static_cast<const void*>(x.data), begin), y.dtype,
                ElementAt(y.dtype, y.data, begin));
    });
  }
  ElementLoop OnlyLoop() const override { return {.unary = small_ ? nullptr : loop_}; }

 private:
  static constexpr int64_t kAtATime = 2048;

  void CastSmall(int64_t n, DataType from, const void* x, DataType to, void* y) const {
    std::array<float, kAtATime> widened, cast;
    if (IsSmallFloat(from)) {
      SmallToFloat(from, n, x, widened.data());
      x = widened.data();
    }
    if (!IsSmallFloat(to)) return loop_(n, x, y);
    loop_(n, x, cast.data());
    if (truncates_)
      return static_cast<void>(
          std::transform(cast.data(), cast.data() + n, static_cast<uint16_t*>(y), TruncateToBfloat16));
    FloatToSmall(to, n, cast.data(), y);
  }

  bool same_;
  bool small_;  // one of the types has 16 bits
  bool truncates_;
  CastLoop loop_;
};

}  // namespace

void RegisterCastKernels(KernelRegistry& registry) { registry.Register("Cast", MakeKernel<CastKernel>); }

}  // namespace lanescope::exec
