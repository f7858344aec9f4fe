// SPDX-License-Identifier: Apache-2.0
#include "exec/functors/binary.h"
#include "exec/functors/gradient.h"
#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

constexpr int64_t kLanes = 32;

template <typename T>
T RowMax(int64_t n, const T* x) {
  T most[kLanes];
  for (T& m : most) m = -T(INFINITY);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) most[lane] = functors::Maximum()(most[lane], x[i + lane]);
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) most[lane] = functors::Maximum()(most[lane], x[i]);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane)
      most[lane] = functors::Maximum()(most[lane], most[lane + half]);
  }
  return most[0];
}

template <typename T>
T RowSum(int64_t n, const T* x) {
  T totals[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) totals[lane] += x[i + lane];
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) totals[lane] += x[i];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) totals[lane] += totals[lane + half];
  }
  return totals[0];
}

// Exponentials of one row, shifted by its maximum so that none overflows; returns the maximum.
template <typename T>
T ShiftedExp(int64_t n, const T* x, T* y) {
  const T most = RowMax(n, x);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = functors::Exp()(x[i] - most);
  return most;
}

template <typename T>
void Softmax(int64_t rows, int64_t n, const T* x, T* y) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    ShiftedExp(n, x, y);
    const T scale = T(1) / RowSum(n, y);
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

// The sum needs the exponentials only while it is taken: they go through a small buffer, since y may be x.
template <typename T>
void LogSoftmax(int64_t rows, int64_t n, const T* x, T* y) {
  constexpr int64_t kChunk = 256;
  T buffer[kChunk];
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    const T most = RowMax(n, x);
    T total = T(0);
    for (int64_t begin = 0; begin < n; begin += kChunk) {
      const int64_t count = n - begin < kChunk ? n - begin : kChunk;
      for (int64_t i = 0; i < count; ++i) buffer[i] = functors::Exp()(x[begin + i] - most);
      total += RowSum(count, buffer);
    }
    const T log_total = functors::Log()(total);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - most) - log_total;
  }
}

// norm^-beta; the exponents that networks use need no logarithm.
template <typename T>
void NegativePower(int64_t n, T beta, const T* norm, T* power) {
  if (beta == T(0.75)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T root = functors::Sqrt()(norm[i]);
      power[i] = T(1) / (root * functors::Sqrt()(root));
    }
  } else if (beta == T(0.5)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) power[i] = functors::Rsqrt()(norm[i]);
  } else if (beta == T(1)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) power[i] = T(1) / norm[i];
  } else {
    for (int64_t i = 0; i < n; ++i) power[i] = functors::Pow()(norm[i], -beta);
  }
}

// Sums of padded[i .. i + 2 * radius] for i < n.
template <typename T>
void WindowSums(int64_t n, int64_t radius, const T* padded, T* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] = padded[i];
  for (int64_t k = 1; k <= 2 * radius; ++k) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) sums[i] += padded[i + k];
  }
}

// norm[i] = bias + alpha * (sum of squares around i). `padded` has n + 2 * radius elements.
template <typename T>
void Norms(int64_t n, int64_t radius, T bias, T alpha, const T* x, T* padded, T* norm) {
  for (int64_t i = 0; i < radius; ++i) padded[i] = padded[n + radius + i] = T(0);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) padded[radius + i] = x[i] * x[i];
  WindowSums(n, radius, padded, norm);
  for (int64_t i = 0; i < n; ++i) norm[i] = bias + alpha * norm[i];
}

template <typename T>
void Lrn(int64_t rows, int64_t n, int64_t radius, T bias, T alpha, T beta, const T* x, T* y, T* scratch) {
  T* padded = scratch;
  T* norm = padded + n + 2 * radius;
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
    Norms(n, radius, bias, alpha, x, padded, norm);
    NegativePower(n, beta, norm, norm);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * norm[i];
  }
}

// dx = dy * norm^-beta - 2 alpha beta x * (sum of dy * y / norm around x).
template <typename T>
void LrnGrad(int64_t rows, int64_t n, int64_t radius, T bias, T alpha, T beta, const T* x, const T* y,
             const T* dy, T* dx, T* scratch) {
  T* padded = scratch;
  T* norm = padded + n + 2 * radius;
  T* power = norm + n;
  const T factor = T(-2) * alpha * beta;
  for (int64_t row = 0; row < rows; ++row, x += n, y += n, dy += n, dx += n) {
    Norms(n, radius, bias, alpha, x, padded, norm);
    NegativePower(n, beta, norm, power);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) padded[radius + i] = dy[i] * y[i] / norm[i];
    WindowSums(n, radius, padded, norm);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * power[i] + factor * x[i] * norm[i];
  }
}

template <typename T>
void Leaky(int64_t n, T alpha, const T* x, T* y) {
  const functors::LeakyRelu op{static_cast<double>(alpha)};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = op(x[i]);
}

template <typename T>
void LeakyGrad(int64_t n, T alpha, const T* dy, const T* x, T* dx) {
  const functors::LeakyReluGrad op{static_cast<double>(alpha)};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dx[i] = op(dy[i], x[i]);
}

template <typename T>
RowLoops<T> Make() {
  return {Softmax<T>, LogSoftmax<T>, Lrn<T>, LrnGrad<T>, Leaky<T>, LeakyGrad<T>};
}

}  // namespace

void FillRows(Loops& loops) {
  loops.rows_float = Make<float>();
  loops.rows_double = Make<double>();
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
