// SPDX-License-Identifier: Apache-2.0
#include "exec/functors/optimizer.h"
#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void GradientDescent(int64_t n, T rate, const T* grad, T* var) {
  const functors::GradientDescentStep<T> step{rate};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) step(grad[i], var[i]);
}

template <typename T>
void Momentum(int64_t n, T rate, T momentum, bool nesterov, const T* grad, T* var, T* accum) {
  // Two loops, so that neither has a condition inside.
  if (nesterov) {
    const functors::MomentumStep<T> step{rate, momentum, true};
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) step(grad[i], var[i], accum[i]);
  } else {
    const functors::MomentumStep<T> step{rate, momentum, false};
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) step(grad[i], var[i], accum[i]);
  }
}

template <typename T, bool kNesterov>
void AdamLoop(int64_t n, T rate, T beta1, T beta2, T epsilon, const T* grad, T* var, T* m, T* v) {
  const functors::AdamStep<T> step{rate, beta1, beta2, epsilon, kNesterov};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) step(grad[i], var[i], m[i], v[i]);
}

template <typename T>
void Adam(int64_t n, T rate, T beta1, T beta2, T epsilon, bool nesterov, const T* grad, T* var, T* m, T* v) {
  (nesterov ? AdamLoop<T, true> : AdamLoop<T, false>)(n, rate, beta1, beta2, epsilon, grad, var, m, v);
}

template <typename T>
void Adagrad(int64_t n, T rate, bool update, const T* grad, T* var, T* accum) {
  const functors::AdagradStep<T> step{rate, update};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) step(grad[i], var[i], accum[i]);
}

template <typename T>
void RmsProp(int64_t n, T rate, T rho, T momentum, T epsilon, const T* grad, T* var, T* ms, T* mom) {
  const functors::RmsPropStep<T> step{rate, rho, momentum, epsilon};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) step(grad[i], var[i], ms[i], mom[i]);
}

template <typename T>
TrainLoops<T> Make() {
  return {GradientDescent<T>, Momentum<T>, Adam<T>, Adagrad<T>, RmsProp<T>};
}

}  // namespace

void FillTrain(Loops& loops) {
  loops.train_float = Make<float>();
  loops.train_double = Make<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
