// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/kernels/element_wise.cuh"
#include "exec/cuda/kernels/optimizer.h"
#include "exec/cuda/kernels/sparse.h"
#include "exec/functors/optimizer.h"

namespace lanescope::exec::cuda {
namespace {

// std::array has no device functions: the same in plain arrays.
template <typename T>
struct StepData {
  const T* numbers[6];
  T* slots[4];
  const T* grad;
  bool flag;
  bool by_rows;

  // The step that the numbers make.
  template <typename Step>
  __device__ Step Make() const {
    functors::StepNumbers<T> values{{}, flag, by_rows};
    for (int i = 0; i < 6; ++i) values.at[i] = numbers[i] == nullptr ? T(0) : *numbers[i];
    return Step::From(values);
  }
};

template <typename T>
StepData<T> DataOf(const OptimizerStep<T>& step, bool by_rows) {
  StepData<T> data{};
  for (size_t i = 0; i < 6; ++i) data.numbers[i] = step.numbers[i];
  for (size_t i = 0; i < 4; ++i) data.slots[i] = step.slots[i];
  data.grad = step.grad;
  data.flag = step.flag;
  data.by_rows = by_rows;
  return data;
}

template <typename Step, typename T>
__device__ void Apply(const Step& step, const StepData<T>& d, int64_t from, int64_t to) {
  const T grad = d.grad[from];
  T var = d.slots[0][to];
  if constexpr (Step::kSlots == 0) {
    step(grad, var);
  } else if constexpr (Step::kSlots == 1) {
    T slot = d.slots[1][to];
    step(grad, var, slot);
    d.slots[1][to] = slot;
  } else if constexpr (Step::kSlots == 2) {
    T slot1 = d.slots[1][to];
    T slot2 = d.slots[2][to];
    step(grad, var, slot1, slot2);
    d.slots[1][to] = slot1;
    d.slots[2][to] = slot2;
  } else {
    T slot1 = d.slots[1][to];
    T slot2 = d.slots[2][to];
    T slot3 = d.slots[3][to];
    step(grad, var, slot1, slot2, slot3);
    d.slots[1][to] = slot1;
    d.slots[2][to] = slot2;
    d.slots[3][to] = slot3;
  }
  d.slots[0][to] = var;
}

template <typename Step, typename T>
__global__ void DenseStepKernel(StepData<T> data, int64_t n) {
  const auto step = data.template Make<Step>();
  for (int64_t i = ThreadIndex(); i < n; i += ThreadCount()) Apply(step, data, i, i);
}

// The thread of the first update of a row takes all steps of that row, in order.
template <typename Step, typename T>
__global__ void SparseStepKernel(StepData<T> data, int64_t rows, int64_t updates, Divider inner,
                                 const uint64_t* keys, const int32_t* order) {
  const auto step = data.template Make<Step>();
  const int64_t width = inner.divisor();
  for (int64_t i = ThreadIndex(); i < updates * width; i += ThreadCount()) {
    int64_t first = i;
    const int64_t column = inner.Split(first);
    const uint64_t row = keys[first];
    if (row >= static_cast<uint64_t>(rows) || (first > 0 && keys[first - 1] == row)) continue;
    const int64_t to = static_cast<int64_t>(row) * width + column;
    for (int64_t u = first; u < updates && keys[u] == row; ++u) {
      Apply(step, data, int64_t{order[u]} * width + column, to);
    }
  }
}

template <typename Step, typename T>
void Dense(Launch& launch, const OptimizerStep<T>& step, int64_t n) {
  DenseStepKernel<Step, T><<<BlocksFor(n), kThreads, 0, launch.stream()>>>(DataOf(step, false), n);
}

struct SparseRows {
  int64_t rows, updates, inner;
  SortedUpdates sorted;
};

template <typename Step, typename T>
void Sparse(Launch& launch, const OptimizerStep<T>& step, const SparseRows& rows) {
  SparseStepKernel<Step, T><<<BlocksFor(rows.updates * rows.inner), kThreads, 0, launch.stream()>>>(
      DataOf(step, true), rows.rows, rows.updates, Divider(rows.inner), rows.sorted.keys, rows.sorted.order);
}

// Calls run.template operator()<Step>() for the optimizers that have kernels.
template <typename T, typename Run>
void WithKernel(Optimizer optimizer, const Run& run) {
  WithStep<T>(optimizer, [&]<typename Step>() {
    if constexpr (!std::is_same_v<Step, functors::ProximalGradientDescentStep<T>>) {
      run.template operator()<Step>();
    }
  });
}

}  // namespace

template <typename T>
void RunOptimizer(Launch& launch, const OptimizerStep<T>& step, int64_t n) {
  if (n == 0) return;
  WithKernel<T>(step.optimizer, [&]<typename Step>() { Dense<Step>(launch, step, n); });
  CheckLaunch("an optimizer");
}

template <typename T>
void RunSparseOptimizer(Launch& launch, const OptimizerStep<T>& step, int64_t rows, int64_t updates,
                        int64_t inner, IndexReader row_of) {
  if (updates * inner == 0) return;
  const SparseRows sparse{rows, updates, inner, SortUpdates(launch, 0, rows, updates, row_of)};
  WithKernel<T>(step.optimizer, [&]<typename Step>() { Sparse<Step>(launch, step, sparse); });
  CheckLaunch("a sparse optimizer");
}

template void RunOptimizer<float>(Launch&, const OptimizerStep<float>&, int64_t);
template void RunOptimizer<double>(Launch&, const OptimizerStep<double>&, int64_t);
template void RunSparseOptimizer<float>(Launch&, const OptimizerStep<float>&, int64_t, int64_t, int64_t,
                                        IndexReader);
template void RunSparseOptimizer<double>(Launch&, const OptimizerStep<double>&, int64_t, int64_t, int64_t,
                                         IndexReader);

}  // namespace lanescope::exec::cuda
