// SPDX-License-Identifier: Apache-2.0
// Optimizer steps on host memory.
#include "core/graph/work_pieces.h"
#include "exec/kernels/optimizer_plan.h"
#include "exec/kernels/row_access.h"
#include "exec/kernels/state_kernels.h"

namespace lanescope::exec {
namespace {

// Steps n elements: at[0] the variable's, at[1], ... the slots'.
template <typename Step, typename T>
void StepElements(const Step& step, int64_t n, const T* grad, T* const* at) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (Step::kSlots == 0) step(grad[i], at[0][i]);
    if constexpr (Step::kSlots == 1) step(grad[i], at[0][i], at[1][i]);
    if constexpr (Step::kSlots == 2) step(grad[i], at[0][i], at[1][i], at[2][i]);
    if constexpr (Step::kSlots == 3) step(grad[i], at[0][i], at[1][i], at[2][i], at[3][i]);
  }
}

// The usual ones have loops for every instruction set.
template <typename T>
void StepElements(const functors::GradientDescentStep<T>& step, int64_t n, const T* grad, T* const* at) {
  HostLoops().train<T>().gradient_descent(n, step.rate, grad, at[0]);
}
template <typename T>
void StepElements(const functors::MomentumStep<T>& step, int64_t n, const T* grad, T* const* at) {
  HostLoops().train<T>().momentum(n, step.rate, step.momentum, step.nesterov, grad, at[0], at[1]);
}
template <typename T>
void StepElements(const functors::AdamStep<T>& step, int64_t n, const T* grad, T* const* at) {
  HostLoops().train<T>().adam(n, step.rate, step.beta1, step.beta2, step.epsilon, step.nesterov, grad, at[0],
                              at[1], at[2]);
}
template <typename T>
void StepElements(const functors::AdagradStep<T>& step, int64_t n, const T* grad, T* const* at) {
  HostLoops().train<T>().adagrad(n, step.rate, step.update, grad, at[0], at[1]);
}
template <typename T>
void StepElements(const functors::RmsPropStep<T>& step, int64_t n, const T* grad, T* const* at) {
  HostLoops().train<T>().rms_prop(n, step.rate, step.rho, step.momentum, step.epsilon, grad, at[0], at[1],
                                  at[2]);
}

std::vector<int64_t> RowsOf(const OptimizerPlan& plan, int64_t limit) {
  std::vector<int64_t> rows = ReadInts(*plan.indices);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= 0 && rows[i] < limit) continue;
    Throw(Code::kInvalidArgument, "Index {} at offset {} in indices is out of range", rows[i], i);
  }
  return rows;
}

// The elements of a variable and its slots from `offset` on.
template <typename T>
std::array<T*, 4> MemoryOf(const OptimizerPlan& plan, int64_t offset) {
  std::array<T*, 4> memory{};
  for (size_t i = 0; i < memory.size(); ++i) {
    if (plan.slots[i] != nullptr) memory[i] = plan.slots[i]->as<T>() + offset;
  }
  return memory;
}

// Rows of the gradient belong to rows of the variable; a row that is named twice takes two steps.
template <typename T, typename Step>
void StepRows(KernelContext& context, const OptimizerPlan& plan, const Step& step) {
  const int64_t limit = plan.slots[0]->shape[0];
  const std::vector<int64_t> rows = RowsOf(plan, limit);
  const int64_t inner = plan.inner;
  const RowRanges ranges(limit, static_cast<int64_t>(rows.size()), inner,
                         [&](int64_t i) { return rows[static_cast<size_t>(i)]; });
  ranges.ForEach(context.team(), [&](int64_t, int64_t, std::span<const int64_t> own) {
    for (const int64_t i : own) {
      const std::array<T*, 4> memory = MemoryOf<T>(plan, rows[static_cast<size_t>(i)] * inner);
      StepElements(step, inner, plan.grad->as<T>() + i * inner, memory.data());
    }
  });
}

void RunOptimizer(KernelContext& context, const OptimizerPlan& plan) {
  DispatchReal("an optimizer", plan.slots[0]->dtype, [&]<typename T>(T) {
    const functors::StepNumbers<T> numbers = ReadNumbers<T>(plan);
    WithStep<T>(plan.rule.optimizer, [&]<typename Step>() {
      const Step step = Step::From(numbers);
      if (plan.indices != nullptr) return StepRows<T>(context, plan, step);
      context.team().ParallelFor(plan.elements, kPieceElements, [&](int64_t begin, int64_t end) {
        StepElements(step, end - begin, plan.grad->as<T>() + begin, MemoryOf<T>(plan, begin).data());
      });
    });
  });
}

}  // namespace

void RegisterOptimizerKernels(KernelRegistry& registry) {
  RegisterOptimizerRules<RunOptimizer>(registry, [](const OptimizerRule&, bool) { return true; });
}

}  // namespace lanescope::exec
