// SPDX-License-Identifier: Apache-2.0
// Gradients of element-wise functions. Arguments come in the order of TensorFlow's ops: functions of their
// own output take (y, dy), activations take (dy, x) or, where the name says so, (dy, y).
#pragma once

#include "exec/functors/unary.h"

namespace lanescope::exec::functors {
inline namespace LANESCOPE_ISA_NAMESPACE {

struct TanhGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T y, T dy) const {
    return dy * (y * (T(1) - y));
  }
};
// These three are 0 where dy is, whatever y: a factor that is infinite or no number does not reach what no
// gradient reaches.
struct SqrtGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T y, T dy) const {
    return dy == T(0) ? T(0) : T(0.5) / y * dy;
  }
};
struct RsqrtGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T y, T dy) const {
    return dy == T(0) ? T(0) : T(-0.5) * (dy * y) * (y * y);
  }
};
struct ReciprocalGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T y, T dy) const {
    return dy == T(0) ? T(0) : -dy * (y * y);
  }
};
struct ReluGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T dy, T x) const {
    return dy * (x > T(0) ? T(1) : T(0));  // a NaN of dy stays one
  }
};
struct Relu6Grad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T dy, T x) const {
    return dy * (x > T(0) && x < T(6) ? T(1) : T(0));
  }
};
struct LeakyReluGrad {
  double alpha;
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T dy, T x) const {
    return x > T(0) ? dy : static_cast<T>(alpha) * dy;
  }
};
struct EluGrad {  // of the output
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T dy, T y) const {
    return y < T(0) ? (y + T(1)) * dy : dy;
  }
};
struct SeluGrad {  // of the output
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T dy, T y) const {
    return y < T(0) ? dy * (y + T(kSeluScaleAlpha)) : dy * T(kSeluScale);
  }
};
struct SoftplusGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T dy, T x) const {
    return dy / (Exp()(-x) + T(1));
  }
};
struct SoftsignGrad {
  template <typename T>
  LANESCOPE_HOST_DEVICE T operator()(T dy, T x) const {
    const T d = T(1) + Abs()(x);
    return dy / (d * d);
  }
};

}  // namespace LANESCOPE_ISA_NAMESPACE
}  // namespace lanescope::exec::functors
