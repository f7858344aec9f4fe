#include "exec/functors/unary.h"
#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename T>
void GradientDescent(int64_t n, T rate, const T* grad, T* var) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) var[i] -= rate * grad[i];
}

template <typename T>
void Momentum(int64_t n, T rate, T momentum, bool nesterov, const T* grad, T* var, T* accum) {
  if (nesterov) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T a = accum[i] * momentum + grad[i];
      accum[i] = a;
      var[i] -= grad[i] * rate + a * momentum * rate;
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T a = accum[i] * momentum + grad[i];
      accum[i] = a;
      var[i] -= a * rate;
    }
  }
}

template <typename T, bool kNesterov>
void AdamLoop(int64_t n, T rate, T beta1, T beta2, T epsilon, const T* grad, T* var, T* m, T* v) {
  const T rest1 = T(1) - beta1;
  const T rest2 = T(1) - beta2;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i];
    const T first = m[i] + (g - m[i]) * rest1;
    const T second = v[i] + (g * g - v[i]) * rest2;
    m[i] = first;
    v[i] = second;
    const T step = kNesterov ? g * rest1 + beta1 * first : first;
    var[i] -= (step * rate) / (functors::Sqrt()(second) + epsilon);
  }
}

template <typename T>
void Adam(int64_t n, T rate, T beta1, T beta2, T epsilon, bool nesterov, const T* grad, T* var, T* m, T* v) {
  (nesterov ? AdamLoop<T, true> : AdamLoop<T, false>)(n, rate, beta1, beta2, epsilon, grad, var, m, v);
}

template <typename T>
void Adagrad(int64_t n, T rate, bool update, const T* grad, T* var, T* accum) {
  const T weight = update ? T(1) : T(0);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T a = accum[i] + weight * (grad[i] * grad[i]);
    accum[i] = a;
    var[i] -= grad[i] * rate * functors::Rsqrt()(a);
  }
}

template <typename T>
void RmsProp(int64_t n, T rate, T rho, T momentum, T epsilon, const T* grad, T* var, T* ms, T* mom) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T square = ms[i] + (grad[i] * grad[i] - ms[i]) * (T(1) - rho);
    const T step = mom[i] * momentum + (grad[i] * rate) / functors::Sqrt()(square + epsilon);
    ms[i] = square;
    mom[i] = step;
    var[i] -= step;
  }
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
