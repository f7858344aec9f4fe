// SPDX-License-Identifier: Apache-2.0
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

// The result from what was made: elsewhere than on its diagonals it is zero.
void TurnResult(KernelContext& context, const EinsumPlan& plan, const std::string& from, const void* made) {
  const TensorRef& output = context.output();
  const uint64_t zero = 0;
  if (plan.has_diagonal())
    RunFillFromHost(LaunchOf(context), ElementBytes(output.dtype), output.NumElements(), output.data, &zero);
  Turn(context, plan, from, plan.output(), made, output.data);
}

// Scratch memory of an operand: turned, summed over the letters that it alone has, and as many ones as those.
struct OperandScratch {
  OperandScratch(ScratchLayout* layout, const KernelContext& context, const EinsumPlan& plan, int input,
                 const std::string& to, const std::string& alone) {
    const TensorRef& tensor = context.input(input);
    const auto element = ElementBytes(tensor.dtype);
    if (plan.operand(input) != to + alone) turned = layout->Add(BytesOf(tensor));
    if (alone.empty()) return;
    summed = layout->Add(plan.CountOf(to) * element);
    ones = layout->Add(plan.CountOf(alone) * element);
  }
  int64_t turned = -1, summed = -1, ones = -1;
};

template <typename T>
const T* Turned(KernelContext& context, const EinsumPlan& plan, int input, const std::string& to,
                const std::string& alone, const OperandScratch& at, char* scratch, T* sums) {
  const auto memory = [scratch](int64_t offset) {
    return static_cast<T*>(static_cast<void*>(scratch + offset));
  };
  const T* source = context.input(input).as<T>();
  if (at.turned >= 0) {
    Turn(context, plan, plan.operand(input), to + alone, source, scratch + at.turned);
    source = memory(at.turned);
  }
  if (alone.empty()) return source;
  const int64_t rows = plan.CountOf(to), length = plan.CountOf(alone);
  T* const ones = memory(at.ones);
  const T one{1};
  if (length > 0) RunFillFromHost(LaunchOf(context), sizeof(T), length, ones, &one);
  const MatrixBatch<T> a{source, std::max<int64_t>(1, length), rows * length, false},
      b{ones, 1, length, false};
  T* const result = sums != nullptr ? sums : memory(at.summed);
  RunProduct<T>(LaunchOf(context), 1, rows, 1, length, a, b, result, false);
  return result;
}

template <typename T>
void Multiplied(KernelContext& context, const EinsumPlan& plan) {
  const std::string& wanted = plan.output();
  ScratchLayout layout;
  const OperandScratch a_at(&layout, context, plan, 0, plan.left, plan.left_alone);
  const OperandScratch b_at(&layout, context, plan, 1, plan.right, plan.right_alone);
  const int64_t c_at = layout.Add(plan.CountOf(plan.made) * ElementBytes(context.output().dtype));
  char* scratch = static_cast<char*>(ScratchOf(context, layout.bytes()));
  const T* left = Turned<T>(context, plan, 0, plan.left, plan.left_alone, a_at, scratch, nullptr);
  const T* right = Turned<T>(context, plan, 1, plan.right, plan.right_alone, b_at, scratch, nullptr);
  const MatrixBatch<T> a{left, std::max<int64_t>(1, plan.k), plan.m * plan.k, false};
  const MatrixBatch<T> b{right, std::max<int64_t>(1, plan.n), plan.k * plan.n, false};
  void* c = plan.made == wanted ? context.output().data : scratch + c_at;
  RunProduct<T>(LaunchOf(context), plan.batches, plan.m, plan.n, plan.k, a, b, static_cast<T*>(c), false);
  if (plan.made != wanted) TurnResult(context, plan, plan.made, c);
}

template <typename T>
void Summed(KernelContext& context, const EinsumPlan& plan) {
  ScratchLayout layout;
  const OperandScratch at(&layout, context, plan, 0, plan.left, plan.left_alone);
  char* scratch = static_cast<char*>(ScratchOf(context, layout.bytes()));
  T* const sums = plan.has_diagonal() ? nullptr : context.output().as<T>();
  const T* made = Turned<T>(context, plan, 0, plan.left, plan.left_alone, at, scratch, sums);
  if (sums == nullptr) TurnResult(context, plan, plan.made, made);
}

void RunEinsum(KernelContext& context, const EinsumPlan& plan) {
  if (context.output().NumElements() == 0) return;
  if (context.num_inputs() == 1 && plan.left_alone.empty()) {
    TurnResult(context, plan, plan.operand(0), context.input(0).data);
    return;
  }
  DispatchReal("Einsum", context.input(0).dtype, [&]<typename T>(T) {
    context.num_inputs() > 1 ? Multiplied<T>(context, plan) : Summed<T>(context, plan);
  });
}

}  // namespace

void RegisterProductOps(KernelRegistry& registry) {
  RegisterConvolutionOps<Forward, InputGrad, FilterGrad>(registry, "DepthwiseConv2dNative");
  RegisterOp<EinsumOp, RunEinsum>(registry, "Einsum");
}

}  // namespace lanescope::exec::cuda
