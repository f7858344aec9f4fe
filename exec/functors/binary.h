// SPDX-License-Identifier: Apache-2.0
// y = op(a, b) for one element; the single source of host loops and device kernels. Values are TensorFlow's.
// Integer divisors are never zero here: kernels check them first.
#pragma once

#include "exec/functors/unary.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

#define LANESCOPE_WRAPPING_OPERATOR(Name, op)                                              \
  struct Name {                                                                            \
    template <typename T>                                                                  \
    LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {                                   \
      if constexpr (std::is_floating_point_v<T>) {                                         \
        return a op b;                                                                     \
      } else {                                                                             \
        return static_cast<T>(static_cast<Wrapping<T>>(a) op static_cast<Wrapping<T>>(b)); \
      }                                                                                    \
    }                                                                                      \
  };
LANESCOPE_WRAPPING_OPERATOR(Add, +)
LANESCOPE_WRAPPING_OPERATOR(Sub, -)
LANESCOPE_WRAPPING_OPERATOR(Mul, *)
#undef LANESCOPE_WRAPPING_OPERATOR

struct MulNoNan {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return b == T(0) ? T(0) : a * b;
  }
};
struct Div {  // integers: toward zero
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      return b == T(-1) ? Neg()(a) : static_cast<T>(a / b);
    }
  }
};
struct TruncateDiv {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    const T quotient = Div()(a, b);
    if constexpr (std::is_floating_point_v<T>) {
      return kIsFloat<T> ? __builtin_truncf(quotient) : __builtin_trunc(quotient);
    } else {
      return quotient;
    }
  }
};
struct DivNoNan {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return b == T(0) ? T(0) : a / b;
  }
};
struct FloorDiv {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return Floor()(a / b);
    } else {
      const T quotient = Div()(a, b);
      const bool inexact = b != T(-1) && static_cast<T>(quotient * b) != a;
      return static_cast<T>(quotient - (inexact && (a < T(0)) != (b < T(0)) ? T(1) : T(0)));
    }
  }
};
struct TruncateMod {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (kIsFloat<T>) {
      return ::fmodf(a, b);
    } else if constexpr (std::is_floating_point_v<T>) {
      return ::fmod(a, b);
    } else {
      return b == T(-1) ? T(0) : static_cast<T>(a % b);
    }
  }
};
struct FloorMod {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    const T rest = TruncateMod()(a, b);
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? static_cast<T>(rest + b) : rest;
  }
};
struct Pow {  // integers: b >= 0
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (kIsFloat<T>) {
      return ::powf(a, b);
    } else if constexpr (std::is_floating_point_v<T>) {
      return ::pow(a, b);
    } else {
      Wrapping<T> base = static_cast<Wrapping<T>>(a);
      Wrapping<T> result = 1;
      for (Wrapping<T> rest = static_cast<Wrapping<T>>(b); rest != 0; rest >>= 1) {
        if ((rest & 1) != 0) result *= base;
        base *= base;
      }
      return static_cast<T>(result);
    }
  }
};
struct Maximum {  // a NaN wins; of equal ones the first
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return b > a || b != b ? b : a;
  }
};
struct Minimum {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return b < a || b != b ? b : a;
  }
};
struct SquaredDifference {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return Square()(Sub()(a, b));
  }
};
struct Atan2 {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    if constexpr (kIsFloat<T>) {
      return ::atan2f(a, b);
    } else {
      return ::atan2(a, b);
    }
  }
};
struct Xdivy {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return a == T(0) ? T(0) : a / b;
  }
};
struct Xlogy {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return a == T(0) ? T(0) : a * Log()(b);
  }
};
struct Xlog1py {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return a == T(0) ? T(0) : a * Log1p()(b);
  }
};

struct BitAnd {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
// Shift counts beyond the width are taken as the widest shift, negative ones as none.
template <typename T>
LANESCOPE_HOST_DEVICE inline T ShiftCount(T b) {
  const T most = static_cast<T>(sizeof(T) * 8 - 1);
  return b < T(0) ? T(0) : (b > most ? most : b);
}
struct LeftShift {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) << ShiftCount(b));
  }
};
struct RightShift {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a >> ShiftCount(b));
  }
};

struct Equal {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <typename T>
  LANESCOPE_HOST_DEVICE bool operator()(T a, T b) const {
    return a >= b;
  }
};

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
