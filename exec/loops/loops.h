// SPDX-License-Identifier: Apache-2.0
// Inner loops on plain memory, compiled once per instruction set and chosen at run time. Kernels split the
// work and call these; nothing here knows of shapes, threads or devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/dtype.h"

namespace lanescope::exec {

// Element types that arithmetic loops exist for.
enum class LoopType : uint8_t { kFloat, kDouble, kInt32, kInt64, kCount };
inline constexpr size_t kLoopTypes = static_cast<size_t>(LoopType::kCount);

// y = op(x).
enum class UnaryOp : uint8_t {
  kAbs,
  kNeg,
  kSign,
  kSquare,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kTanh,
  kSigmoid,
  kErf,
  kErfc,
  kFloor,
  kCeil,
  kRound,  // half to even
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kLgamma,
  kDigamma,
  kErfinv,
  kNdtri,
  kInvert,
  kRelu,
  kRelu6,
  kElu,
  kSelu,
  kSoftplus,
  kSoftsign,
  kCount
};

// Tests of an element; y is bool.
enum class TestOp : uint8_t { kIsNan, kIsInf, kIsFinite, kCount };

// y = op(a, b). Gradients take TensorFlow's argument order (TanhGrad: a = y, b = dy; ReluGrad: a = dy, b =
// x).
enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kMulNoNan,
  kDiv,          // real division; integers: toward zero
  kTruncateDiv,  // toward zero for every type
  kDivNoNan,
  kFloorDiv,
  kTruncateMod,
  kFloorMod,
  kPow,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  kAtan2,
  kXdivy,
  kXlogy,
  kXlog1py,
  kZeta,
  kPolygamma,
  kBitAnd,
  kBitOr,
  kBitXor,
  kLeftShift,
  kRightShift,
  kTanhGrad,
  kSigmoidGrad,
  kSqrtGrad,
  kRsqrtGrad,
  kReciprocalGrad,
  kReluGrad,
  kRelu6Grad,
  kEluGrad,
  kSeluGrad,
  kSoftplusGrad,
  kSoftsignGrad,
  kCount
};

// y (bool) = op(a, b).
enum class CompareOp : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kCount };

enum class ReduceOp : uint8_t { kSum, kSumSquares, kProd, kMax, kMin, kCount };

// `rows` runs of `n` elements. Element i of row r of an operand is at row * r + step * i; steps are 0 or 1
// elements, rows any number. The output is dense and may be the same memory as an operand of step 1 with
// rows apart n.
struct Operand {
  const void* data;
  int64_t row;   // elements from one row to the next
  int64_t step;  // 0: one value a row, 1: n values
};

using UnaryLoop = void (*)(int64_t n, const void* x, void* y);
using BinaryLoop = void (*)(int64_t rows, int64_t n, Operand a, Operand b, void* y);
using CastLoop = void (*)(int64_t n, const void* x, void* y);
// y = condition ? a : b by element size; every operand with its own rows and step.
using SelectLoop = void (*)(int64_t rows, int64_t n, Operand condition, Operand a, Operand b, void* y);
// *result = op(x[0..n)), from the op's identity.
using ReduceLoop = void (*)(int64_t n, const void* x, void* result);
// result[i] = op(result[i], x[i]), i < n, for `rows` rows of x that lie `row` elements apart.
using ReduceRowsLoop = void (*)(int64_t rows, int64_t row, int64_t n, const void* x, void* result);

// The part of a patch that lies inside the image: `rows` rows of `runs` runs of `run_length` contiguous
// elements. Rows and runs lie so far apart in the image; in a patch runs follow each other.
struct PatchTaps {
  int64_t rows, row_step;
  int64_t row_elements;  // from one row to the next in a patch
  int64_t runs, run_step;
  int64_t run_length;
};

// Row-major, rows `stride` elements apart; the factor of a product is what is stored or its transpose.
template <typename T>
struct MatrixView {
  const T* data;
  int64_t stride;
  bool transposed;
};

template <typename T>
struct ProductLoops {
  int64_t panel_elements;  // that `multiply` works with
  // c[m][n] = or, to `add`, += a[m][k] * b[k][n], k > 0; rows of c are c_step elements apart. An element's
  // sum depends on k alone, whatever part of the product is asked for.
  void (*multiply)(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, bool add, T* c,
                   int64_t c_step, T* panels);
  // to[n][rows] = from[rows][n], with rows so many elements apart.
  void (*transpose)(int64_t rows, int64_t n, const T* from, int64_t from_step, T* to, int64_t to_step);
  // sums[i][c] = or, to `add`, += sum over p < positions of x[p][i] * grads[rows[p]][c], for i < length and c
  // < n; grads in panels of columns (ConvLoops), grad_step elements apart. Rows of sums are sum_step apart.
  void (*filter_grad)(int64_t length, int64_t positions, const T* const* x, const int64_t* rows, int64_t n,
                      const T* grads, int64_t grad_step, bool add, T* sums, int64_t sum_step);
};

// Convolution as a product of patches [positions][k] and filters [k][n]; k counts the elements of a patch.
// Columns of a matrix lie in panels of `panel`, [ceil(n / panel)][k][panel], the last one zero-filled.
template <typename T>
struct ConvLoops {
  int64_t panel;
  // A matrix, rows from_step elements apart, into panels that are panel_step elements apart.
  void (*pack)(int64_t k, int64_t n, const T* from, int64_t from_step, T* panels, int64_t panel_step);
  // Packs a matrix stored as [n][k].
  void (*pack_turned)(int64_t k, int64_t n, const T* from, int64_t from_step, T* panels, int64_t panel_step);
  // out[p][first + c] = sum over k of patches[p][k] * panel[k][c], for c < valid.
  void (*forward)(const PatchTaps& taps, int64_t positions, const T* const* patches, const T* panel,
                  int64_t valid, T* const* out, int64_t first);
};

// Windows over stretches of `n` contiguous elements: channels, or those of all windows that see the same taps
// one step apart. Tap t of element i lies at taps[t] + i.
template <typename T>
struct PoolLoops {
  // The largest; NaN never is. Of nothing but NaN, and of no taps, the lowest number.
  void (*max)(int64_t n, int64_t num_taps, const int64_t* taps, const T* x, T* y);
  // Takes the first tap of one window where x == y: its dx += dy.
  void (*max_grad)(int64_t n, int64_t num_taps, const int64_t* taps, const T* x, const T* y, const T* dy,
                   T* dx);
  void (*mean)(int64_t n, int64_t num_taps, const int64_t* taps, const T* x, T* y);
  // y = sum over taps of weights[t] * x.
  void (*weighted_sum)(int64_t n, int64_t num_taps, const int64_t* taps, const T* weights, const T* x, T* y);
  void (*add)(int64_t n, const T* x, T* y);  // y += x
};

template <typename T>
struct RowLoops {
  // Softmax (or its logarithm) of each of `rows` rows of n.
  void (*softmax)(int64_t rows, int64_t n, const T* x, T* y);
  void (*log_softmax)(int64_t rows, int64_t n, const T* x, T* y);
  // y = x * (bias + alpha * (sum of squares over [i - radius, i + radius]))^-beta along rows of n channels.
  // scratch: 3 * n + 2 * radius elements.
  void (*lrn)(int64_t rows, int64_t n, int64_t radius, T bias, T alpha, T beta, const T* x, T* y, T* scratch);
  void (*lrn_grad)(int64_t rows, int64_t n, int64_t radius, T bias, T alpha, T beta, const T* x, const T* y,
                   const T* dy, T* dx, T* scratch);
  void (*leaky_relu)(int64_t n, T alpha, const T* x, T* y);
  void (*leaky_relu_grad)(int64_t n, T alpha, const T* dy, const T* x, T* dx);
};

// Batch normalisation of `rows` rows of n channels; what has no row is one value a channel.
struct NormLoops {
  // The mean and the sum of squared deviations from it.
  void (*moments)(int64_t rows, int64_t n, const float* x, float* mean, float* squares);
  // y = (x - mean) * factor + offset.
  void (*normalise)(int64_t rows, int64_t n, const float* x, const float* mean, const float* factor,
                    const float* offset, float* y);
  // dy_sum = sum of dy, product_sum = sum of dy * (x - mean).
  void (*grad_sums)(int64_t rows, int64_t n, const float* dy, const float* x, const float* mean,
                    float* dy_sum, float* product_sum);
  // dx = factor * (dy - dy_mean - (x - mean) * slope).
  void (*normalise_grad)(int64_t rows, int64_t n, const float* dy, const float* x, const float* mean,
                         const float* factor, const float* dy_mean, const float* slope, float* dx);
};

// Optimizer steps, in TensorFlow's order of operations.
template <typename T>
struct TrainLoops {
  void (*gradient_descent)(int64_t n, T rate, const T* grad, T* var);  // var -= rate * grad
  // accum = accum * momentum + grad; var -= rate * accum (nesterov: rate * (grad + momentum * accum)).
  void (*momentum)(int64_t n, T rate, T momentum, bool nesterov, const T* grad, T* var, T* accum);
  // m += (grad - m) * (1 - beta1); v += (grad^2 - v) * (1 - beta2); var -= m * rate / (sqrt(v) + epsilon),
  // with rate already corrected for bias (nesterov: (grad * (1 - beta1) + beta1 * m) in place of m).
  void (*adam)(int64_t n, T rate, T beta1, T beta2, T epsilon, bool nesterov, const T* grad, T* var, T* m,
               T* v);
  void (*adagrad)(int64_t n, T rate, bool update, const T* grad, T* var, T* accum);
  // ms = ms * rho + grad^2 * (1 - rho); mom = mom * momentum + rate * grad / sqrt(ms + epsilon); var -= mom.
  void (*rms_prop)(int64_t n, T rate, T rho, T momentum, T epsilon, const T* grad, T* var, T* ms, T* mom);
};

// Casts: from and to these types, in this order.
inline constexpr DataType kCastTypes[] = {DataType::kFloat,  DataType::kDouble, DataType::kInt32,
                                          DataType::kInt64,  DataType::kBool,   DataType::kUint8,
                                          DataType::kInt8,   DataType::kInt16,  DataType::kUint16,
                                          DataType::kUint32, DataType::kUint64};
inline constexpr size_t kNumCastTypes = std::size(kCastTypes);

// One instruction set's loops; a null entry is an operation that does not exist for the type.
struct Loops {
  const char* isa = "";
  UnaryLoop unary[static_cast<size_t>(UnaryOp::kCount)][kLoopTypes] = {};
  UnaryLoop test[static_cast<size_t>(TestOp::kCount)][kLoopTypes] = {};
  BinaryLoop binary[static_cast<size_t>(BinaryOp::kCount)][kLoopTypes] = {};
  BinaryLoop compare[static_cast<size_t>(CompareOp::kCount)][kLoopTypes] = {};
  CastLoop cast[kNumCastTypes][kNumCastTypes] = {};
  SelectLoop select_8 = nullptr;  // elements of 1, 2, 4, 8 bytes
  SelectLoop select_16 = nullptr;
  SelectLoop select_32 = nullptr;
  SelectLoop select_64 = nullptr;
  BinaryLoop logical_and = nullptr;
  BinaryLoop logical_or = nullptr;
  BinaryLoop bool_equal = nullptr;
  BinaryLoop bool_not_equal = nullptr;
  UnaryLoop logical_not = nullptr;
  ReduceLoop reduce[static_cast<size_t>(ReduceOp::kCount)][kLoopTypes] = {};
  ReduceRowsLoop reduce_rows[static_cast<size_t>(ReduceOp::kCount)][kLoopTypes] = {};
  ProductLoops<float> product_float = {};
  ProductLoops<double> product_double = {};
  ConvLoops<float> conv_float = {};
  ConvLoops<double> conv_double = {};
  PoolLoops<float> pool_float = {};
  PoolLoops<double> pool_double = {};
  RowLoops<float> rows_float = {};
  RowLoops<double> rows_double = {};
  NormLoops norm = {};
  TrainLoops<float> train_float = {};
  TrainLoops<double> train_double = {};

  template <typename T>
  const ProductLoops<T>& product() const;
  template <typename T>
  const ConvLoops<T>& conv() const;
  template <typename T>
  const PoolLoops<T>& pool() const;
  template <typename T>
  const RowLoops<T>& rows() const;
  template <typename T>
  const TrainLoops<T>& train() const;
};

#define LANESCOPE_LOOPS_OF(T, Kind, part)        \
  template <>                                    \
  inline const Kind<T>& Loops::part<T>() const { \
    return part##_##T;                           \
  }
LANESCOPE_LOOPS_OF(float, ProductLoops, product)
LANESCOPE_LOOPS_OF(double, ProductLoops, product)
LANESCOPE_LOOPS_OF(float, ConvLoops, conv)
LANESCOPE_LOOPS_OF(double, ConvLoops, conv)
LANESCOPE_LOOPS_OF(float, PoolLoops, pool)
LANESCOPE_LOOPS_OF(double, PoolLoops, pool)
LANESCOPE_LOOPS_OF(float, RowLoops, rows)
LANESCOPE_LOOPS_OF(double, RowLoops, rows)
LANESCOPE_LOOPS_OF(float, TrainLoops, train)
LANESCOPE_LOOPS_OF(double, TrainLoops, train)
#undef LANESCOPE_LOOPS_OF

// The best loops that this processor runs; chosen once.
const Loops& HostLoops();
// Every set that this processor runs, plainest first.
std::span<const Loops> AvailableLoops();

}  // namespace lanescope::exec
