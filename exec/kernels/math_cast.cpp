#include <algorithm>
#include <iterator>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

int CastIndex(DataType dtype) {
  const auto* found = std::find(std::begin(kCastTypes), std::end(kCastTypes), dtype);
  return found == std::end(kCastTypes) ? -1 : static_cast<int>(found - std::begin(kCastTypes));
}

CastLoop CastBetween(DataType from, DataType to) {
  const int source = CastIndex(from), target = CastIndex(to);
  if (source < 0 || target < 0) {
    Throw(Code::kUnimplemented, "Cast {} to {} is not supported", DataTypeName(from), DataTypeName(to));
  }
  return HostLoops().cast[static_cast<size_t>(source)][static_cast<size_t>(target)];
}

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const Node& node)
      : same_(node.TypeAttr("SrcT") == node.TypeAttr("DstT")),
        loop_(same_ ? nullptr : CastBetween(node.TypeAttr("SrcT"), node.TypeAttr("DstT"))) {}

  void Compute(KernelContext& context) override {
    if (!same_) return RunUnary(context, loop_);
    context.SetOutputShape(0, context.input(0).shape);
    CopyTensor(context, 0, 0);
  }

 private:
  bool same_;
  CastLoop loop_;
};

}  // namespace

void RegisterCastKernels(KernelRegistry& registry) { registry.Register("Cast", MakeKernel<CastKernel>); }

}  // namespace lanescope::exec
