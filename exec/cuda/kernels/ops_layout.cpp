// SPDX-License-Identifier: Apache-2.0
// Every element to a new place: transposes, tiles, slices, pads, concatenations and their inverse.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/movement.h"
#include "exec/kernels/copy_plan.h"
#include "exec/kernels/join_plan.h"

namespace lanescope::exec::cuda {
namespace {

void CopyElementsOf(KernelContext& context, const CopyPlan& plan) {
  const TensorRef& x = context.input(plan.input);
  const TensorRef& y = context.output();
  if (plan.clear) ZeroBytes(LaunchOf(context), y.data, BytesOf(y));
  CopyMap map;
  for (const CopyPlan::Dim& dim : plan.dims) map.AddDim(dim.count, dim.to, dim.from);
  if (map.elements == 0) return;
  RunStridedCopy(LaunchOf(context), ElementBytes(x.dtype), map, ElementAt(y.dtype, y.data, plan.to),
                 ElementAt(x.dtype, static_cast<const void*>(x.data), plan.from));
}

void PadTensor(KernelContext& context, const PadPlan& plan) {
  const TensorRef& x = context.input(0);
  PadMap map;
  map.mode = plan.mode;
  for (int d = x.shape.rank() - 1; d >= 0; --d) {
    const PadPlan::Border& border = plan.borders[static_cast<size_t>(d)];
    map.AddOuter(x.shape[d], border.before, border.after);
  }
  RunPad(LaunchOf(context), ElementBytes(x.dtype), map, plan.fill, context.output().data, x.data);
}

void SumMirrored(KernelContext& context, const MirrorPadGradMap& map) {
  const TensorRef& out = context.output();
  DispatchReal("MirrorPadGrad", out.dtype, [&]<typename T>(T) {
    RunMirrorPadGrad<T>(LaunchOf(context), map, out.NumElements(), out.as<T>(), context.input(0).as<T>());
  });
}

void JoinParts(KernelContext& context, const PartsPlan& plan) {
  const auto count = static_cast<int>(plan.runs.size());
  std::vector<const void*> parts;
  for (int k = 0; k < count; ++k) parts.push_back(context.input(plan.first + k).data);
  const TensorRef& whole = context.output();
  RunConcat(LaunchOf(context), ElementBytes(whole.dtype), plan.rows, count, parts.data(), plan.runs.data(),
            whole.data);
}

void SplitWhole(KernelContext& context, const PartsPlan& plan) {
  const auto count = static_cast<int>(plan.runs.size());
  std::vector<void*> parts;
  for (int k = 0; k < count; ++k) parts.push_back(context.output(k).data);
  const TensorRef& whole = context.input(plan.first);
  RunSplit(LaunchOf(context), ElementBytes(whole.dtype), plan.rows, count, parts.data(), plan.runs.data(),
           whole.data);
}

}  // namespace

void RegisterLayoutOps(KernelRegistry& registry) {
  RegisterCopyOps<CopyElementsOf>(registry);
  RegisterPadOps<PadTensor, SumMirrored>(registry);
  RegisterJoinOps<JoinParts, SplitWhole>(registry);
}

}  // namespace lanescope::exec::cuda
