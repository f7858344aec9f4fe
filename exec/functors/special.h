// SPDX-License-Identifier: Apache-2.0
// Special functions of one element, computed in double for both types. The single source of host loops and
// device kernels.
#pragma once

#include "exec/functors/unary.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

// The derivative of lgamma: by recurrence to x >= 10, then its asymptotic series; below 0 by reflection.
struct Digamma {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    const double at = static_cast<double>(x);
    const double whole = __builtin_floor(at);
    if (at > 0) return static_cast<T>(OfPositive(at));
    if (!(at > whole)) return static_cast<T>(__builtin_nan(""));  // a pole, or no number
    constexpr double kPi = 3.14159265358979323846;
    return static_cast<T>(OfPositive(1 - at) - kPi / ::tan(kPi * (at - whole)));
  }

 private:
  LANESCOPE_HOST_DEVICE static double OfPositive(double x) {
    double below = 0;
    for (; x < 10; x += 1) below += 1 / x;
    const double r = 1 / (x * x);
    // Bernoulli numbers B(2k) / 2k.
    const double series =
        r * (1.0 / 12 - r * (1.0 / 120 -
                             r * (1.0 / 252 -
                                  r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760 - r * (1.0 / 12)))))));
    return ::log(x) - 0.5 / x - series - below;
  }
};

// z >= 0 with erfc(z) = 2 * tail, for a tail in (0, 1/2]: Winitzki's approximation, made exact by Halley's
// iteration.
LANESCOPE_HOST_DEVICE inline double InverseErfc(double tail) {
  constexpr double kSlope = 1.1283791670955126;  // 2 / sqrt(pi)
  constexpr double kA = 0.147;
  const double log_term = ::log(4 * tail * (1 - tail));
  const double b = 2 / (3.14159265358979323846 * kA) + log_term / 2;
  const double square = __builtin_sqrt(b * b - log_term / kA) - b;
  double z = square > 0 ? __builtin_sqrt(square) : 0;
  for (int i = 0; i < 3; ++i) {
    const double step = (2 * tail - ::erfc(z)) / (kSlope * ::exp(-z * z));
    z -= step / (1 + z * step);
  }
  return z;
}

// The sum of (q + k)^-x over k = 0, 1, ... for x > 1 and q > 0: the first terms, and Euler's and Maclaurin's
// formula for the rest.
LANESCOPE_HOST_DEVICE inline double ZetaOfPositive(double x, double q) {
  constexpr double kEnough = 12;
  double sum = 0;
  double at = q;
  for (; at < kEnough; at += 1) sum += ::pow(at, -x);
  const double last = ::pow(at, -x);
  sum += last * (at / (x - 1) + 0.5);
  // Bernoulli numbers B(2k) / (2k)!.
  const double kFactors[] = {1.0 / 12,          -1.0 / 720,
                             1.0 / 30240,       -1.0 / 1209600,
                             1.0 / 47900160,    -691.0 / 1307674368000,
                             1.0 / 74724249600, -3617.0 / 10670622842880000};
  double term = last / at * x;
  for (int k = 0; k < 8; ++k) {
    sum += kFactors[k] * term;
    const double next = x + 2 * k;
    term *= (next + 1) * (next + 2) / (at * at);
  }
  return sum;
}

// The function for all numbers. The terms below zero of a negative q are those of a positive one, up to their
// sign.
LANESCOPE_HOST_DEVICE inline double HurwitzZeta(double x, double q) {
  if (x == 1) return __builtin_inf();
  if (!(x > 1) || q != q) return __builtin_nan("");
  if (q > 0) return ZetaOfPositive(x, q);
  const bool whole = x == __builtin_floor(x), even = whole && ::fmod(x, 2.0) == 0;
  if (q == __builtin_floor(q)) return even ? __builtin_inf() : __builtin_nan("");
  if (!whole) return __builtin_nan("");  // a power of a negative number
  const double above = q - __builtin_floor(q);
  const double below = ZetaOfPositive(x, 1 - above) - ZetaOfPositive(x, 1 - q);
  return ZetaOfPositive(x, above) + (even ? below : -below);
}

struct Zeta {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x, T q) const {
    return static_cast<T>(HurwitzZeta(static_cast<double>(x), static_cast<double>(q)));
  }
};

struct Polygamma {  // the nth derivative of digamma
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T n, T x) const {
    const double order = static_cast<double>(n);
    if (!(order >= 0) || order != __builtin_floor(order)) return static_cast<T>(__builtin_nan(""));
    if (order == 0) return Digamma()(x);
    const double size = ::exp(::lgamma(order + 1)) * HurwitzZeta(order + 1, static_cast<double>(x));
    return static_cast<T>(::fmod(order, 2.0) == 1 ? size : -size);
  }
};

struct Ndtri {  // x with P(normal <= x) = p
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T p) const {
    const double at = static_cast<double>(p);
    if (!(at >= 0 && at <= 1)) return static_cast<T>(__builtin_nan(""));
    if (at == 0 || at == 1) return static_cast<T>(at == 0 ? -__builtin_inf() : __builtin_inf());
    const double z = 1.41421356237309505 * InverseErfc(at < 0.5 ? at : 1 - at);
    return static_cast<T>(at < 0.5 ? -z : z);
  }
};

struct Erfinv {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    const double at = static_cast<double>(x);
    const double size = __builtin_fabs(at);
    if (!(size <= 1)) return static_cast<T>(__builtin_nan(""));
    const double z = size == 1 ? __builtin_inf() : InverseErfc((1 - size) / 2);
    return static_cast<T>(at < 0 ? -z : z);
  }
};

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
