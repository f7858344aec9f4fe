// Random tensors: the streams of the host's kernels.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/random.h"
#include "exec/kernels/random_plan.h"

namespace lanescope::exec::cuda {
namespace {

void FillRandom(KernelContext& context, const RandomPlan& plan) {
  const TensorRef& out = context.output();
  DispatchReal("a random op", out.dtype, [&]<typename T>(T) {
    RunRandom<T>(LaunchOf(context), plan.distribution, plan.start, out.NumElements(), out.as<T>());
  });
}

void FillIntegers(KernelContext& context, const RandomIntegersPlan& plan) {
  const TensorRef& out = context.output();
  DispatchIndex("RandomUniformInt", out.dtype, [&]<typename T>(T) {
    RunRandomIntegers<T>(LaunchOf(context), plan.start, plan.low, plan.range, out.NumElements(), out.as<T>());
  });
}

}  // namespace

void RegisterRandomOps(KernelRegistry& registry) {
  exec::RegisterRandomOps<FillRandom, FillIntegers>(registry);
}

}  // namespace lanescope::exec::cuda
