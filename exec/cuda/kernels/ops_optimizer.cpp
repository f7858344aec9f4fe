// SPDX-License-Identifier: Apache-2.0
// Optimizer steps; the bodies are in optimizer.h.
#include "exec/cuda/kernels/access.h"
#include "exec/cuda/kernels/optimizer.h"

namespace lanescope::exec::cuda {
namespace {

void StepVariable(KernelContext& context, const OptimizerPlan& plan) {
  DispatchReal("an optimizer", plan.slots[0]->dtype, [&]<typename T>(T) {
    OptimizerStep<T> step;
    step.optimizer = plan.rule.optimizer;
    step.flag = plan.flag;
    step.grad = plan.grad->as<T>();
    for (size_t i = 0; i < plan.slots.size(); ++i) {
      if (plan.slots[i] != nullptr) step.slots[i] = plan.slots[i]->as<T>();
    }
    for (size_t i = 0; i < plan.numbers.size(); ++i) {
      if (plan.numbers[i] != nullptr) step.numbers[i] = plan.numbers[i]->as<T>();
    }
    if (plan.indices == nullptr) return RunOptimizer<T>(LaunchOf(context), step, plan.elements);
    RunSparseOptimizer<T>(LaunchOf(context), step, plan.slots[0]->shape[0], plan.indices->NumElements(),
                          plan.inner, ReaderOf("an optimizer", *plan.indices));
  });
}

// TensorFlow has none of these on GPUs.
bool HasKernel(const OptimizerRule& rule, bool sparse) {
  return rule.optimizer != Optimizer::kProximalGradientDescent &&
         !(sparse && rule.optimizer == Optimizer::kCenteredRmsProp);
}

}  // namespace

void RegisterOptimizerOps(KernelRegistry& registry) {
  RegisterOptimizerRules<StepVariable>(registry, HasKernel);
}

}  // namespace lanescope::exec::cuda
