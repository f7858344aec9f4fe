// SPDX-License-Identifier: Apache-2.0
// y = op(x) for one element; the single source of host loops and device kernels. Values are TensorFlow's.
#pragma once

#include <type_traits>

#include "exec/functors/float_math.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

// Integers wrap around instead of overflowing.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
inline constexpr bool kIsFloat = std::is_same_v<T, float>;

struct Abs {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return kIsFloat<T> ? __builtin_fabsf(x) : __builtin_fabs(x);
    } else {
      return static_cast<T>(x < 0 ? Wrapping<T>(0) - static_cast<Wrapping<T>>(x)
                                  : static_cast<Wrapping<T>>(x));
    }
  }
};
struct Neg {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x));
    }
  }
};
struct Sign {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    const T sign = x > T(0) ? T(1) : (x < T(0) ? T(-1) : T(0));
    return x != x ? x : sign;
  }
};
struct Square {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return x * x;
    } else {
      return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(x));
    }
  }
};
struct Sqrt {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return kIsFloat<T> ? __builtin_sqrtf(x) : __builtin_sqrt(x);
  }
};
struct Rsqrt {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return T(1) / Sqrt()(x);
  }
};
struct Reciprocal {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return T(1) / x;
  }
};

// A function with a vectorising float form and the C library's for double.
#define LANESCOPE_VECTOR_FUNCTION(Name, float_form, double_form) \
  struct Name {                                                  \
    template <typename T>                                        \
    LANESCOPE_HOST_DEVICE T operator()(T x) const {              \
      if constexpr (kIsFloat<T>) {                               \
        return float_form(x);                                    \
      } else {                                                   \
        return double_form(x);                                   \
      }                                                          \
    }                                                            \
  };
LANESCOPE_VECTOR_FUNCTION(Exp, ExpFloat, ::exp)
LANESCOPE_VECTOR_FUNCTION(Expm1, Expm1Float, ::expm1)
LANESCOPE_VECTOR_FUNCTION(Log, LogFloat, ::log)
LANESCOPE_VECTOR_FUNCTION(Log1p, Log1pFloat, ::log1p)
LANESCOPE_VECTOR_FUNCTION(Tanh, TanhFloat, ::tanh)
LANESCOPE_VECTOR_FUNCTION(Erf, ErfFloat, ::erf)
LANESCOPE_VECTOR_FUNCTION(Erfc, ::erfcf, ::erfc)
LANESCOPE_VECTOR_FUNCTION(Floor, __builtin_floorf, __builtin_floor)
LANESCOPE_VECTOR_FUNCTION(Ceil, __builtin_ceilf, __builtin_ceil)
LANESCOPE_VECTOR_FUNCTION(Sin, ::sinf, ::sin)
LANESCOPE_VECTOR_FUNCTION(Cos, ::cosf, ::cos)
LANESCOPE_VECTOR_FUNCTION(Tan, ::tanf, ::tan)
LANESCOPE_VECTOR_FUNCTION(Asin, ::asinf, ::asin)
LANESCOPE_VECTOR_FUNCTION(Acos, ::acosf, ::acos)
LANESCOPE_VECTOR_FUNCTION(Atan, ::atanf, ::atan)
LANESCOPE_VECTOR_FUNCTION(Sinh, ::sinhf, ::sinh)
LANESCOPE_VECTOR_FUNCTION(Cosh, ::coshf, ::cosh)
LANESCOPE_VECTOR_FUNCTION(Asinh, ::asinhf, ::asinh)
LANESCOPE_VECTOR_FUNCTION(Acosh, ::acoshf, ::acosh)
LANESCOPE_VECTOR_FUNCTION(Atanh, ::atanhf, ::atanh)
#undef LANESCOPE_VECTOR_FUNCTION

// log |gamma(x)|. The host form keeps the sign, which nobody asks for, off the C library's global.
struct Lgamma {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
#if defined(__CUDA_ARCH__)
    return static_cast<T>(::lgamma(x));
#else
    int sign = 0;
    if constexpr (kIsFloat<T>) {
      return ::lgammaf_r(x, &sign);
    } else {
      return ::lgamma_r(x, &sign);
    }
#endif
  }
};
struct Round {  // half to even
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return kIsFloat<T> ? __builtin_rintf(x) : __builtin_rint(x);
    } else {
      return x;
    }
  }
};
struct Sigmoid {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return T(1) / (T(1) + Exp()(-x));
  }
};
struct Invert {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return static_cast<T>(~x);
  }
};

// Activations.
struct Relu {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};
struct Relu6 {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    const T positive = x < T(0) ? T(0) : x;
    return positive > T(6) ? T(6) : positive;
  }
};
struct LeakyRelu {
  double alpha;
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return x > T(0) ? x : static_cast<T>(alpha) * x;
  }
};
struct Elu {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? Expm1()(x) : x;
  }
};
// Klambauer et al. 2017, "Self-normalizing neural networks": lambda, and lambda times alpha.
inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;
struct Selu {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return x < T(0) ? T(kSeluScaleAlpha) * Expm1()(x) : T(kSeluScale) * x;
  }
};
// log(1 + e^x), with the two asymptotes where the middle form would round them away.
struct Softplus {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    const T threshold = kIsFloat<T> ? T(13.942385) : T(34.043653);  // -log(epsilon) - 2
    const T e = Exp()(x);
    const T middle = Log1p()(e);
    return x > threshold ? x : (x < -threshold ? e : middle);
  }
};
struct Softsign {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T x) const {
    return x / (T(1) + Abs()(x));
  }
};

// Tests: true or false of one element.
struct IsNan {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T x) const {
    return Abs()(x) == T(INFINITY);
  }
};
struct IsFinite {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T x) const {
    return Abs()(x) < T(INFINITY);
  }
};

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
