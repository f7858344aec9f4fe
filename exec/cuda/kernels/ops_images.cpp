// SPDX-License-Identifier: Apache-2.0
// Resized images and reversed sequences; the bodies are in images.h.
#include "core/graph/ops/images.h"
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/images.h"
#include "exec/kernels/copy_plan.h"
#include "exec/kernels/resize_plan.h"

namespace lanescope::exec::cuda {
namespace {

ResizeSpec ResizeSpecOf(const ResizePlan& plan) {
  return {plan.batch, plan.channels, plan.down, plan.across};
}

void ResizeByLines(KernelContext& context, const ResizePlan& plan) {
  DispatchReal("ResizeBilinear", context.input(0).dtype, [&]<typename T>(T) {
    RunResizeBilinear<T>(LaunchOf(context), ResizeSpecOf(plan), context.input(0).as<T>(),
                         context.output().as<float>());
  });
}

void ResizeByLinesGrad(KernelContext& context, const ResizePlan& plan) {
  DispatchReal("ResizeBilinearGrad", context.output().dtype, [&]<typename T>(T) {
    RunResizeBilinearGrad<T>(LaunchOf(context), ResizeSpecOf(plan), context.input(0).as<float>(),
                             context.output().as<T>());
  });
}

void ResizeByPixels(KernelContext& context, const ResizePlan& plan) {
  RunResizeNearest(LaunchOf(context), ResizeSpecOf(plan), ElementBytes(context.output().dtype),
                   context.input(0).data, context.output().data);
}

void ResizeByPixelsGrad(KernelContext& context, const ResizePlan& plan) {
  DispatchReal("ResizeNearestNeighborGrad", context.output().dtype, [&]<typename T>(T) {
    RunResizeNearestGrad<T>(LaunchOf(context), ResizeSpecOf(plan), context.input(0).as<T>(),
                            context.output().as<T>());
  });
}

// Lengths out of range are not refused: that would make the host wait.
class ReverseKernel final : public Kernel {
 public:
  explicit ReverseKernel(const Node& node) : rule_(node) {}
  void Compute(KernelContext& context) override {
    const TensorRef& input = context.input(0);
    const TensorRef& lengths = context.input(1);
    ShapeOutput(context, 0, rule_.ResultOf(input.shape, lengths.shape));
    const auto strides = StridesOf(input.shape);
    const auto sequence = static_cast<int>(rule_.sequence()), batch = static_cast<int>(rule_.batch());
    const ReverseSpec spec{input.NumElements(), strides[static_cast<size_t>(sequence)], input.shape[sequence],
                           strides[static_cast<size_t>(batch)], input.shape[batch]};
    RunReverseSequence(LaunchOf(context), spec, ElementBytes(input.dtype),
                       ReaderOf("ReverseSequence", lengths), input.data, context.output().data);
  }

 private:
  ops::SequenceRule rule_;
};

}  // namespace

void RegisterImageOps(KernelRegistry& registry) {
  RegisterOp<ResizeOp, ResizeByLines>(registry, "ResizeBilinear");
  RegisterOp<ResizeOp, ResizeByLinesGrad>(registry, "ResizeBilinearGrad");
  RegisterOp<ResizeOp, ResizeByPixels>(registry, "ResizeNearestNeighbor");
  RegisterOp<ResizeOp, ResizeByPixelsGrad>(registry, "ResizeNearestNeighborGrad");
  registry.Register("ReverseSequence", MakeKernel<ReverseKernel>);
}

}  // namespace lanescope::exec::cuda
