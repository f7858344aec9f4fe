// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/functor_headers.h"

namespace lanescope::exec::cuda {
namespace {

constexpr char kTypeTraits[] = R"(#pragma once
namespace std {
template <bool first, typename A, typename B>
struct conditional {
  using type = A;
};
template <typename A, typename B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool first, typename A, typename B>
using conditional_t = typename conditional<first, A, B>::type;
template <typename A, typename B>
inline constexpr bool is_same_v = false;
template <typename A>
inline constexpr bool is_same_v<A, A> = true;
template <typename T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <typename T>
inline constexpr bool is_integral_v = !is_floating_point_v<T>;
}  // namespace std
)";

constexpr char kCstdint[] = R"(#pragma once
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
)";

// Functions are there without a header, under their own names alone.
constexpr char kMath[] = R"(#pragma once
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define __builtin_fabsf fabsf
#define __builtin_fabs fabs
#define __builtin_sqrtf sqrtf
#define __builtin_sqrt sqrt
#define __builtin_floorf floorf
#define __builtin_floor floor
#define __builtin_ceilf ceilf
#define __builtin_ceil ceil
#define __builtin_rintf rintf
#define __builtin_rint rint
#define __builtin_truncf truncf
#define __builtin_trunc trunc
#define __builtin_copysignf copysignf
)";

constexpr char kIsa[] =
#include "functors_isa.inc"
    ;
constexpr char kFloatMath[] =
#include "functors_float_math.inc"
    ;
constexpr char kUnary[] =
#include "functors_unary.inc"
    ;
constexpr char kBinary[] =
#include "functors_binary.inc"
    ;
constexpr char kGradient[] =
#include "functors_gradient.inc"
    ;
constexpr char kOptimizer[] =
#include "functors_optimizer.inc"
    ;
constexpr char kCast[] =
#include "functors_cast.inc"
    ;

constexpr CarriedHeader kHeaders[] = {{"type_traits", kTypeTraits},
                                      {"cstdint", kCstdint},
                                      {"math.h", kMath},
                                      {"exec/functors/isa.h", kIsa},
                                      {"exec/functors/float_math.h", kFloatMath},
                                      {"exec/functors/unary.h", kUnary},
                                      {"exec/functors/binary.h", kBinary},
                                      {"exec/functors/gradient.h", kGradient},
                                      {"exec/functors/optimizer.h", kOptimizer},
                                      {"exec/functors/cast.h", kCast}};

}  // namespace

std::span<const CarriedHeader> FunctorHeaders() { return kHeaders; }

}  // namespace lanescope::exec::cuda
