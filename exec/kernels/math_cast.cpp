#include <algorithm>
#include <iterator>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/tensor_access.h"

namespace lanescope::exec {
namespace {

size_t CastIndex(DataType dtype) {
  const auto* found = std::find(std::begin(kCastTypes), std::end(kCastTypes), dtype);
  if (found == std::end(kCastTypes)) {
    Throw(Code::kUnimplemented, "Cast has no host kernel for {}", DataTypeName(dtype));
  }
  return static_cast<size_t>(found - std::begin(kCastTypes));
}

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const Node& node)
      : same_(node.TypeAttr("SrcT") == node.TypeAttr("DstT")),
        loop_(same_ ? nullptr
                    : HostLoops().cast[CastIndex(node.TypeAttr("SrcT"))][CastIndex(node.TypeAttr("DstT"))]) {}

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
