// SPDX-License-Identifier: Apache-2.0
// Batch normalisation of rows of channels: everything goes by channel, so rows are worked on side by side.
#include "exec/functors/batch_norm.h"
#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

// Rows summed up before they join the total: less traffic, and a shorter chain of roundings.
constexpr int64_t kJoined = 4;

// total[c] += sum over rows of term(element, c).
template <typename Term>
void SumRows(int64_t rows, int64_t n, float* total, const Term& term) {
  int64_t row = 0;
  for (; row + kJoined <= rows; row += kJoined) {
    const int64_t at = row * n;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) {
      total[c] +=
          (term(at + c, c) + term(at + n + c, c)) + (term(at + 2 * n + c, c) + term(at + 3 * n + c, c));
    }
  }
  for (; row < rows; ++row) {
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) total[c] += term(row * n + c, c);
  }
}

void Clear(int64_t n, float* values) {
  for (int64_t c = 0; c < n; ++c) values[c] = 0;
}

void Moments(int64_t rows, int64_t n, const float* x, float* mean, float* squares) {
  Clear(n, mean);
  Clear(n, squares);
  SumRows(rows, n, mean, [=](int64_t i, int64_t) { return x[i]; });
  const auto count = static_cast<float>(rows);
  for (int64_t c = 0; c < n; ++c) mean[c] /= count;
  SumRows(rows, n, squares, [=](int64_t i, int64_t c) { return (x[i] - mean[c]) * (x[i] - mean[c]); });
}

void Normalise(int64_t rows, int64_t n, const float* x, const float* mean, const float* factor,
               const float* offset, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) y[c] = functors::Normalise{mean[c], factor[c], offset[c]}(x[c]);
  }
}

void GradSums(int64_t rows, int64_t n, const float* dy, const float* x, const float* mean, float* dy_sum,
              float* product_sum) {
  Clear(n, dy_sum);
  Clear(n, product_sum);
  int64_t row = 0;
  for (; row + kJoined <= rows; row += kJoined, dy += kJoined * n, x += kJoined * n) {
    const float *dy1 = dy + n, *dy2 = dy1 + n, *dy3 = dy2 + n, *x1 = x + n, *x2 = x1 + n, *x3 = x2 + n;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) {
      const float m = mean[c];
      dy_sum[c] += (dy[c] + dy1[c]) + (dy2[c] + dy3[c]);
      product_sum[c] +=
          (dy[c] * (x[c] - m) + dy1[c] * (x1[c] - m)) + (dy2[c] * (x2[c] - m) + dy3[c] * (x3[c] - m));
    }
  }
  for (; row < rows; ++row, dy += n, x += n) {
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) {
      dy_sum[c] += dy[c];
      product_sum[c] += dy[c] * (x[c] - mean[c]);
    }
  }
}

void NormaliseGrad(int64_t rows, int64_t n, const float* dy, const float* x, const float* mean,
                   const float* factor, const float* dy_mean, const float* slope, float* dx) {
  for (int64_t row = 0; row < rows; ++row, dy += n, x += n, dx += n) {
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) {
      dx[c] = functors::NormaliseGrad{mean[c], factor[c], dy_mean[c], slope[c]}(dy[c], x[c]);
    }
  }
}

}  // namespace

void FillNorm(Loops& loops) { loops.norm = {Moments, Normalise, GradSums, NormaliseGrad}; }

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
