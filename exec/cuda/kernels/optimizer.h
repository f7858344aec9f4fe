// Steps of optimizers on device memory: one launch a variable, scalars read on the device.
#pragma once

#include <array>
#include <cstdint>

#include "exec/cuda/kernels/index_reader.h"

namespace lanescope::exec::cuda {

class Launch;

enum class Optimizer : int {
  kGradientDescent,
  kMomentum,
  kKerasMomentum,
  kAdam,
  kAdagrad,
  kAdagradV2,
  kRmsProp,
  kAdadelta,
  kCenteredRmsProp,
  kProximalAdagrad,
  kFtrl,
};

// Pointers to device memory; what a step does not use is null. Scalars: kGradientDescent {rate}; kMomentum
// and kKerasMomentum {rate, momentum}; kAdam {rate, beta1, beta2, epsilon, beta1_power, beta2_power};
// kAdagrad {rate}; kAdagradV2 {rate, epsilon}; kRmsProp and kCenteredRmsProp {rate, rho, momentum, epsilon};
// kAdadelta {rate, rho, epsilon}; kProximalAdagrad {rate, l1, l2}; kFtrl {rate, l1, l2, lr_power,
// l2_shrinkage or null for none}.
template <typename T>
struct OptimizerStep {
  Optimizer optimizer;
  bool flag = false;  // nesterov of momentum and Adam; whether Adagrad updates its slot; FtrlStep::scaled
  std::array<const T*, 6> scalars{};
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
