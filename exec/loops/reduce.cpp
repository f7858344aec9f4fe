// SPDX-License-Identifier: Apache-2.0
#include "exec/functors/reduction.h"
#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

// Totals kept side by side: enough to hide the latency of an addition, and the first levels of a pairwise
// sum. The number is the same for every instruction set, so that the order of additions is too.
constexpr int64_t kLanes = 64;

template <typename F, typename T>
void Reduce(int64_t n, const void* x, void* result) {
  const T* in = static_cast<const T*>(x);
  const F op{};
  T totals[kLanes];
  for (T& total : totals) total = F::template Identity<T>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) totals[lane] = op.Take(totals[lane], in[i + lane]);
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) totals[lane] = op.Take(totals[lane], in[i]);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) totals[lane] = op.Join(totals[lane], totals[lane + half]);
  }
  *static_cast<T*>(result) = totals[0];
}

// Wide rows: columns in register-sized strips.
template <typename F, typename T>
void ReduceWideRows(int64_t rows, int64_t row, int64_t n, const T* in, T* totals) {
  const F op{};
  int64_t column = 0;
  for (; column + kLanes <= n; column += kLanes) {
    T strip[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) strip[lane] = totals[column + lane];
    for (int64_t r = 0; r < rows; ++r) {
      const T* line = in + r * row + column;
      for (int64_t lane = 0; lane < kLanes; ++lane) strip[lane] = op.Take(strip[lane], line[lane]);
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) totals[column + lane] = strip[lane];
  }
  for (int64_t r = 0; r < rows && column < n; ++r) {
    const T* line = in + r * row;
#pragma GCC ivdep
    for (int64_t i = column; i < n; ++i) totals[i] = op.Take(totals[i], line[i]);
  }
}

// Narrow dense rows: several rows make one wide one, whose parts are joined at the end.
constexpr int64_t kNarrow = 32;
constexpr int64_t kBundle = 16;

template <typename F, typename T>
void ReduceRows(int64_t rows, int64_t row, int64_t n, const void* x, void* result) {
  const T* in = static_cast<const T*>(x);
  T* totals = static_cast<T*>(result);
  if (n > kNarrow || row != n || rows < 2 * kBundle) {
    ReduceWideRows<F, T>(rows, row, n, in, totals);
    return;
  }
  const F op{};
  T bundle[kNarrow * kBundle];
  const int64_t width = n * kBundle;
  for (int64_t i = 0; i < width; ++i) bundle[i] = F::template Identity<T>();
  const int64_t bundles = rows / kBundle;
  for (int64_t b = 0; b < bundles; ++b) {
    const T* line = in + b * width;
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) bundle[i] = op.Take(bundle[i], line[i]);
  }
  for (int64_t part = 0; part < kBundle; ++part) {
    for (int64_t i = 0; i < n; ++i) totals[i] = op.Join(totals[i], bundle[part * n + i]);
  }
  const int64_t done = bundles * kBundle;
  ReduceWideRows<F, T>(rows - done, row, n, in + done * row, totals);
}

template <typename F>
void Set(Loops& loops, ReduceOp op) {
  ReduceLoop* whole = loops.reduce[static_cast<size_t>(op)];
  whole[static_cast<size_t>(LoopType::kFloat)] = Reduce<F, float>;
  whole[static_cast<size_t>(LoopType::kDouble)] = Reduce<F, double>;
  whole[static_cast<size_t>(LoopType::kInt32)] = Reduce<F, int32_t>;
  whole[static_cast<size_t>(LoopType::kInt64)] = Reduce<F, int64_t>;
  ReduceRowsLoop* rows = loops.reduce_rows[static_cast<size_t>(op)];
  rows[static_cast<size_t>(LoopType::kFloat)] = ReduceRows<F, float>;
  rows[static_cast<size_t>(LoopType::kDouble)] = ReduceRows<F, double>;
  rows[static_cast<size_t>(LoopType::kInt32)] = ReduceRows<F, int32_t>;
  rows[static_cast<size_t>(LoopType::kInt64)] = ReduceRows<F, int64_t>;
}

}  // namespace

void FillReduce(Loops& loops) {
  Set<functors::ReduceSum>(loops, ReduceOp::kSum);
  Set<functors::ReduceSumSquares>(loops, ReduceOp::kSumSquares);
  Set<functors::ReduceProd>(loops, ReduceOp::kProd);
  Set<functors::ReduceMax>(loops, ReduceOp::kMax);
  Set<functors::ReduceMin>(loops, ReduceOp::kMin);
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
