// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/kernels/element_wise.h"
#include "exec/kernels/element_wise_plan.h"

namespace lanescope::exec {
namespace {

class AddNKernel final : public LoopKernel {
 public:
  explicit AddNKernel(const Node& node)
      : op_(node),
        inputs_(node.inputs.size()),
        add_(HostLoops().binary[static_cast<size_t>(BinaryOp::kAdd)]
                               [static_cast<size_t>(LoopTypeOf(node.op, node.TypeAttr("T")))]) {}

  void Compute(KernelContext& context) override {
    const Shape shape = op_.Plan(context);
    if (context.num_inputs() == 1) return CopyTensor(context, 0, 0);
    context.team().ParallelFor(shape.NumElements(), kElementGrain,
                               [&](int64_t begin, int64_t end) { AddBlock(context, begin, end); });
  }
  ElementLoop OnlyLoop() const override { return {.binary = inputs_ == 2 ? add_ : nullptr}; }

 private:
  // All sums but the last go to a small buffer, because the output may be the memory of any input.
  void AddBlock(KernelContext& context, int64_t begin, int64_t end) const {
    constexpr int64_t kBufferBytes = 16384;
    alignas(64) char buffer[kBufferBytes];
    const auto size = static_cast<int64_t>(ElementSize(context.output().dtype));
    const int64_t step = kBufferBytes / size;
    for (int64_t first = begin; first < end; first += step) {
      const int64_t n = std::min(step, end - first);
      const auto operand = [&](int i) { return Operand{context.input(i).as<char>() + first * size, 0, 1}; };
      const int last = context.num_inputs() - 1;
      for (int i = 1; i <= last; ++i) {
        add_(1, n, i == 1 ? operand(0) : Operand{buffer, 0, 1}, operand(i),
             i == last ? context.output().as<char>() + first * size : buffer);
      }
    }
  }

  SameShapesOp op_;
  size_t inputs_;
  BinaryLoop add_;
};

}  // namespace

void RegisterAddNKernels(KernelRegistry& registry) {
  registry.Register("AddN", MakeKernel<AddNKernel>);
  registry.Register("AccumulateNV2", MakeKernel<AddNKernel>);
}

}  // namespace lanescope::exec
