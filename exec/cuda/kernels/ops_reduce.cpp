// SPDX-License-Identifier: Apache-2.0
// Reductions, ArgMax, running sums, TopK.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/reduce.h"

namespace lanescope::exec::cuda {
namespace {

void Reduce(KernelContext& context, const ReductionPlan& plan) {
  const TensorRef& x = context.input(0);
  RunReduce(LaunchOf(context), plan.spec, x.dtype, x.shape, plan.gone, x.data, context.output().data);
}

void FindExtremes(KernelContext& context, const ArgPlan& plan) {
  const TensorRef& x = context.input(0);
  RunArg(LaunchOf(context), plan, x.dtype, x.data, static_cast<int>(ElementSize(context.output().dtype)),
         context.output().data);
}

void SumRunning(KernelContext& context, const ScanPlan& plan) {
  const TensorRef& x = context.input(0);
  RunScan(LaunchOf(context), plan, LoopTypeOf("Cumsum", x.dtype), x.data, context.output().data);
}

void TakeTop(KernelContext& context, const TopKPlan& plan) {
  if (plan.rows * plan.k == 0) return;
  const TensorRef& x = context.input(0);
  RunTopK(LaunchOf(context), plan, LoopTypeOf("TopK", x.dtype), x.data, context.output(0).data,
          context.output(1).as<int32_t>());
}

void InTopK(KernelContext& context, int64_t rows) {
  const TensorRef& predictions = context.input(0);
  const TensorRef& targets = context.input(1);
  RequireScalar("k", context.input(2));
  const int bytes = ReaderOf("InTopKV2", targets).bytes;
  RunInTopK(LaunchOf(context), rows, predictions.shape[1], bytes, predictions.as<float>(), targets.data,
            context.input(2).data, context.output().as<bool>());
}

}  // namespace

void RegisterReductionOps(KernelRegistry& registry) {
  exec::RegisterReductionOps<Reduce, FindExtremes, SumRunning>(registry);
  for (const char* op : {"TopK", "TopKV2"}) RegisterOp<TopKOp, TakeTop>(registry, op);
  RegisterOp<PlanInTopK, InTopK>(registry, "InTopKV2");
}

}  // namespace lanescope::exec::cuda
