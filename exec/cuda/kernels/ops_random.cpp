// SPDX-License-Identifier: Apache-2.0
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

void DrawClasses(KernelContext& context, const MultinomialPlan& plan) {
  const auto bytes = plan.rows * plan.classes * static_cast<int64_t>(sizeof(double));
  auto* sums = static_cast<double*>(ScratchOf(context, bytes));
  DispatchReal("Multinomial", context.input(0).dtype, [&]<typename T>(T) {
    DispatchIndex("Multinomial", context.output().dtype, [&]<typename Class>(Class) {
      RunMultinomial<T, Class>(LaunchOf(context), plan.start, plan.rows, plan.samples, plan.classes,
                               context.input(0).as<T>(), sums, context.output().as<Class>());
    });
  });
}

}  // namespace

void RegisterRandomOps(KernelRegistry& registry) {
  exec::RegisterRandomOps<FillRandom, FillIntegers>(registry);
  RegisterMultinomialOps<DrawClasses>(registry);
}

}  // namespace lanescope::exec::cuda
