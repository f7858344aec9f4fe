// SPDX-License-Identifier: Apache-2.0
// One element's step of each optimizer: var and its slots change in place. Formulas are TensorFlow's
// documented ones, in its order of operations. The single source of host loops and device kernels.
#pragma once

#include "exec/functors/binary.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

// The numbers of a step in the order in which the steps below name theirs (Adam: rate, beta1, beta2, epsilon,
// beta1_power, beta2_power), what its attribute says, and whether it steps rows that are named by numbers.
template <typename T>
struct StepNumbers {
  T at[6];
  bool flag;
  bool by_rows;
};

// Each step: kSlots slots beside the variable, and From(numbers).

// var -= rate * grad
template <typename T>
struct GradientDescentStep {
  static constexpr int kSlots = 0;
  LANESCOPE_HOST_DEVICE static GradientDescentStep From(const StepNumbers<T>& s) { return {s.at[0]}; }
  T rate;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var) const { var -= rate * grad; }
};

// accum = accum * momentum + grad; var -= rate * accum (nesterov: rate * (grad + momentum * accum)).
template <typename T>
struct MomentumStep {
  static constexpr int kSlots = 1;
  LANESCOPE_HOST_DEVICE static MomentumStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.flag};
  }
  T rate, momentum;
  bool nesterov;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& accum) const {
    const T a = accum * momentum + grad;
    accum = a;
    var -= nesterov ? grad * rate + a * momentum * rate : a * rate;
  }
};

// accum = momentum * accum - rate * grad; var += accum (nesterov: momentum * accum - rate * grad).
template <typename T>
struct KerasMomentumStep {
  static constexpr int kSlots = 1;
  LANESCOPE_HOST_DEVICE static KerasMomentumStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.flag};
  }
  T rate, momentum;
  bool nesterov;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& accum) const {
    const T a = accum * momentum - grad * rate;
    accum = a;
    var += nesterov ? a * momentum - grad * rate : a;
  }
};

// m += (grad - m) * (1 - beta1); v += (grad^2 - v) * (1 - beta2); var -= m * rate / (sqrt(v) + epsilon), with
// rate already corrected for bias (nesterov: grad * (1 - beta1) + beta1 * m in place of m).
template <typename T>
struct AdamStep {
  static constexpr int kSlots = 2;
  // The rate is corrected for the slots' start at zero.
  LANESCOPE_HOST_DEVICE static AdamStep From(const StepNumbers<T>& s) {
    return {s.at[0] * Sqrt()(T(1) - s.at[5]) / (T(1) - s.at[4]), s.at[1], s.at[2], s.at[3], s.flag};
  }
  T rate, beta1, beta2, epsilon;
  bool nesterov;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& m, T& v) const {
    const T rest1 = T(1) - beta1;
    const T rest2 = T(1) - beta2;
    const T first = m + (grad - m) * rest1;
    const T second = v + (grad * grad - v) * rest2;
    m = first;
    v = second;
    const T step = nesterov ? grad * rest1 + beta1 * first : first;
    var -= (step * rate) / (Sqrt()(second) + epsilon);
  }
};

// accum += grad^2 (where `update`); var -= rate * grad / sqrt(accum).
template <typename T>
struct AdagradStep {
  static constexpr int kSlots = 1;
  LANESCOPE_HOST_DEVICE static AdagradStep From(const StepNumbers<T>& s) { return {s.at[0], s.flag}; }
  T rate;
  bool update;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& accum) const {
    const T weight = update ? T(1) : T(0);  // no condition around the slot: loops stay straight
    const T a = accum + weight * (grad * grad);
    accum = a;
    var -= grad * rate * Rsqrt()(a);
  }
};

// As above with var -= rate * grad / (sqrt(accum) + epsilon).
template <typename T>
struct AdagradV2Step {
  static constexpr int kSlots = 1;
  LANESCOPE_HOST_DEVICE static AdagradV2Step From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.flag};
  }
  T rate, epsilon;
  bool update;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& accum) const {
    const T a = update ? accum + grad * grad : accum;
    accum = a;
    var -= grad * rate / (Sqrt()(a) + epsilon);
  }
};

// ms = ms * rho + grad^2 * (1 - rho); mom = mom * momentum + rate * grad / sqrt(ms + epsilon); var -= mom.
template <typename T>
struct RmsPropStep {
  static constexpr int kSlots = 2;
  LANESCOPE_HOST_DEVICE static RmsPropStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.at[2], s.at[3]};
  }
  T rate, rho, momentum, epsilon;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& ms, T& mom) const {
    const T square = ms + (grad * grad - ms) * (T(1) - rho);
    const T step = mom * momentum + (grad * rate) / Sqrt()(square + epsilon);
    ms = square;
    mom = step;
    var -= step;
  }
};

// accum = rho * accum + (1 - rho) * grad^2; step = sqrt(accum_update + epsilon) / sqrt(accum + epsilon) *
// grad; var -= rate * step; accum_update = rho * accum_update + (1 - rho) * step^2.
template <typename T>
struct AdadeltaStep {
  static constexpr int kSlots = 2;
  LANESCOPE_HOST_DEVICE static AdadeltaStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.at[2]};
  }
  T rate, rho, epsilon;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& accum, T& accum_update) const {
    const T a = accum * rho + grad * grad * (T(1) - rho);
    accum = a;
    const T step = Sqrt()(accum_update + epsilon) / Sqrt()(a + epsilon) * grad;
    var -= step * rate;
    accum_update = accum_update * rho + step * step * (T(1) - rho);
  }
};

// mg = rho * mg + (1 - rho) * grad; ms the same of grad^2; mom = mom * momentum + rate * grad / sqrt(ms -
// mg^2 + epsilon); var -= mom.
template <typename T>
struct CenteredRmsPropStep {
  static constexpr int kSlots = 3;
  LANESCOPE_HOST_DEVICE static CenteredRmsPropStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.at[2], s.at[3]};
  }
  T rate, rho, momentum, epsilon;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& mg, T& ms, T& mom) const {
    const T square = ms + (grad * grad - ms) * (T(1) - rho);
    const T mean = mg + (grad - mg) * (T(1) - rho);
    const T step = mom * momentum + (grad * rate) / Sqrt()((square - mean * mean) + epsilon);
    ms = square;
    mg = mean;
    mom = step;
    var -= step;
  }
};

// The w that minimises rate * (l1 * |w| + l2 / 2 * w^2) + (w - x)^2 / 2.
template <typename T>
LANESCOPE_HOST_DEVICE inline T Proximal(T x, T rate, T l1, T l2) {
  const T shrunk = l1 > T(0) ? Sign()(x) * Maximum()(Abs()(x) - rate * l1, T(0)) : x;
  return shrunk / (T(1) + l2 * rate);
}

// var = proximal(var - rate * grad).
template <typename T>
struct ProximalGradientDescentStep {
  static constexpr int kSlots = 0;
  LANESCOPE_HOST_DEVICE static ProximalGradientDescentStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.at[2]};
  }
  T rate, l1, l2;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var) const {
    var = Proximal(var - grad * rate, rate, l1, l2);
  }
};

// A proximal update at the rate of Adagrad: accum += grad^2; rate / sqrt(accum).
template <typename T>
struct ProximalAdagradStep {
  static constexpr int kSlots = 1;
  LANESCOPE_HOST_DEVICE static ProximalAdagradStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.at[2]};
  }
  T rate, l1, l2;
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& accum) const {
    const T a = accum + grad * grad;
    accum = a;
    const T own = rate * Rsqrt()(a);
    var = Proximal(var - grad * own, own, l1, l2);
  }
};

// Follow the regularised leader. With p = accum^-lr_power before and q after accum += grad^2:
// linear += grad + 2 * l2_shrinkage * var - (q - p) / rate * var; var = (l1 * sign(linear) - linear) / (q /
// rate
// + 2 * l2) where |linear| > l1, else 0. `scaled`: linear holds its value times the rate.
template <typename T>
struct FtrlStep {
  static constexpr int kSlots = 2;
  LANESCOPE_HOST_DEVICE static FtrlStep From(const StepNumbers<T>& s) {
    return {s.at[0], s.at[1], s.at[2], s.at[3], s.at[4], s.flag, s.by_rows};
  }
  T rate, l1, l2, lr_power, l2_shrinkage;
  bool scaled;
  bool by_rows;  // TensorFlow's steps by rows clamp, and so leave 0 / 0 where dense steps write 0
  LANESCOPE_HOST_DEVICE void operator()(T grad, T& var, T& accum, T& linear) const {
    const T a = accum + grad * grad;
    const T power = Power(a);
    const T shift = power - Power(accum);
    const T shrunk = l2_shrinkage == T(0) ? grad : grad + T(2) * l2_shrinkage * var;
    const T l = linear + (scaled ? shrunk * rate - shift * var : shrunk - shift / rate * var);
    accum = a;
    linear = l;
    const T bound = scaled ? l1 * rate : l1;
    const T quadratic = scaled ? power + T(2) * l2 * rate : power / rate + T(2) * l2;
    if (by_rows) {
      var = (Maximum()(Minimum()(l, bound), -bound) - l) / quadratic;
    } else {
      var = Abs()(l) > bound ? (bound * Sign()(l) - l) / quadratic : T(0);
    }
  }

 private:
  LANESCOPE_HOST_DEVICE T Power(T x) const { return lr_power == T(-0.5) ? Sqrt()(x) : Pow()(x, -lr_power); }
};

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
