// Depthwise convolution and Einsum; the bodies are in depthwise.h, linear.h and movement.h.
#include <algorithm>

#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/depthwise.h"
#include "exec/cuda/kernels/linear.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/cuda/kernels/scratch_layout.h"
#include "exec/kernels/convolution_plan.h"
#include "exec/kernels/einsum_plan.h"

namespace lanescope::exec::cuda {
namespace {

DepthwiseSpec DepthwiseOf(const ConvPlan& plan) {
  return {plan.windows.batch, plan.windows.channels, plan.multiplier, AxisOf(plan.windows.rows),
          AxisOf(plan.windows.columns)};
}

void Forward(KernelContext& context, const ConvPlan& plan) {
  DispatchReal("DepthwiseConv2dNative", context.input(0).dtype, [&]<typename T>(T) {
    RunDepthwise<T>(LaunchOf(context), DepthwiseOf(plan), context.input(0).as<T>(), context.input(1).as<T>(),
                    context.output().as<T>());
  });
}

void InputGrad(KernelContext& context, const ConvPlan& plan) {
  DispatchReal("DepthwiseConv2dNativeBackpropInput", context.input(1).dtype, [&]<typename T>(T) {
    RunDepthwiseInputGrad<T>(LaunchOf(context), DepthwiseOf(plan), context.input(1).as<T>(),
                             context.input(2).as<T>(), context.output().as<T>());
  });
}

void FilterGrad(KernelContext& context, const ConvPlan& plan) {
  DispatchReal("DepthwiseConv2dNativeBackpropFilter", context.input(0).dtype, [&]<typename T>(T) {
    RunDepthwiseFilterGrad<T>(LaunchOf(context), DepthwiseOf(plan), context.input(0).as<T>(),
                              context.input(2).as<T>(), context.output().as<T>());
  });
}

void Turn(KernelContext& context, const EinsumPlan& plan, const std::string& from, const std::string& to,
          const void* source, void* destination) {
  CopyMap map;
  plan.ForEachDim(from, to, [&](int64_t extent, int64_t stride_to, int64_t stride_from) {
    map.AddDim(extent, stride_to, stride_from);
  });
  if (map.elements == 0) return;
  RunStridedCopy(LaunchOf(context), ElementBytes(context.output().dtype), map, destination, source);
}

template <typename T>
void Multiplied(KernelContext& context, const EinsumPlan& plan) {
  const std::vector<std::string>& given = plan.equation->inputs;
  const std::string& wanted = plan.equation->output;
  ScratchLayout layout;
  const int64_t a_at = layout.Add(BytesOf(context.input(0)));
  const int64_t b_at = layout.Add(BytesOf(context.input(1)));
  const int64_t c_at = layout.Add(BytesOf(context.output()));
  char* scratch = static_cast<char*>(ScratchOf(context, layout.bytes()));
  const auto turned = [&](int input, const std::string& to, int64_t at) {
    const std::string& from = given[static_cast<size_t>(input)];
    if (from == to) return static_cast<const T*>(context.input(input).as<T>());
    Turn(context, plan, from, to, context.input(input).data, scratch + at);
    return static_cast<const T*>(static_cast<const void*>(scratch + at));
  };
  const MatrixBatch<T> a{turned(0, plan.left, a_at), std::max<int64_t>(1, plan.k), plan.m * plan.k, false};
  const MatrixBatch<T> b{turned(1, plan.right, b_at), std::max<int64_t>(1, plan.n), plan.k * plan.n, false};
  void* c = plan.made == wanted ? context.output().data : scratch + c_at;
  RunProduct<T>(LaunchOf(context), plan.batches, plan.m, plan.n, plan.k, a, b, static_cast<T*>(c), false);
  if (plan.made != wanted) Turn(context, plan, plan.made, wanted, c, context.output().data);
}

void RunEinsum(KernelContext& context, const EinsumPlan& plan) {
  if (context.output().NumElements() == 0) return;
  if (context.num_inputs() == 1) {
    Turn(context, plan, plan.equation->inputs[0], plan.equation->output, context.input(0).data,
         context.output().data);
    return;
  }
  DispatchReal("Einsum", context.input(0).dtype, [&]<typename T>(T) { Multiplied<T>(context, plan); });
}

}  // namespace

void RegisterProductOps(KernelRegistry& registry) {
  RegisterConvolutionOps<Forward, InputGrad, FilterGrad>(registry, "DepthwiseConv2dNative");
  RegisterOp<EinsumOp, RunEinsum>(registry, "Einsum");
}

}  // namespace lanescope::exec::cuda
