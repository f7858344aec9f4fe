// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers on device memory: one launch a variable, scalars read on the device.
#pragma once

#include <array>
#include <cstdint>

#include "exec/cuda/kernels/index_reader.h"
#include "exec/kernels/optimizer_plan.h"

namespace lanescope::exec::cuda {

class Launch;

// Pointers to device memory; what a step does not use is null. Numbers are in the order of
// functors::StepNumbers.
template <typename T>
struct OptimizerStep {
  Optimizer optimizer;
  bool flag = false;
  std::array<const T*, 6> numbers{};
  std::array<T*, 4> slots{};  // the variable and its slots
  const T* grad = nullptr;
};

template <typename T>
void RunOptimizer(Launch& launch, const OptimizerStep<T>& step, int64_t n);

// Row i of the gradient belongs to row row_of[i] out of `rows` of the variable; a row that is named twice
// takes two steps, in order. Rows out of range are left out. Takes scratch memory.
template <typename T>
void RunSparseOptimizer(Launch& launch, const OptimizerStep<T>& step, int64_t rows, int64_t updates,
                        int64_t inner, IndexReader row_of);

}  // namespace lanescope::exec::cuda
