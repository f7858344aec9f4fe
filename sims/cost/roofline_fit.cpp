// SPDX-License-Identifier: Apache-2.0
#include "sims/cost/roofline_fit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/statistics.h"

namespace lanescope::sims {
namespace {

constexpr int kTerms = 3;
using Row = std::array<double, kTerms>;

// Solves the normal equations of the columns in `subset` by elimination with pivoting; false when singular.
bool Solve(const std::vector<Row>& rows, unsigned subset, Row* solution) {
  std::vector<size_t> columns;
  for (size_t k = 0; k < kTerms; ++k) {
    if (subset >> k & 1) columns.push_back(k);
  }
  const size_t n = columns.size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0));
  for (const Row& row : rows) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) a[i][j] += row[columns[i]] * row[columns[j]];
      a[i][n] += row[columns[i]];  // every right-hand side is 1: the relative target
    }
  }
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i + 1; r < n; ++r) {
      if (std::abs(a[r][i]) > std::abs(a[pivot][i])) pivot = r;
    }
    if (std::abs(a[pivot][i]) < 1e-12 * static_cast<double>(rows.size())) return false;
    std::swap(a[i], a[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = a[r][i] / a[i][i];
      for (size_t c = i; c <= n; ++c) a[r][c] -= factor * a[i][c];
    }
  }
  solution->fill(0);
  for (size_t i = 0; i < n; ++i) (*solution)[columns[i]] = a[i][n] / a[i][i];
  return true;
}

double SquaredError(const std::vector<Row>& rows, const Row& x) {
  double sum = 0;
  for (const Row& row : rows) {
    const double error = row[0] * x[0] + row[1] * x[1] + row[2] * x[2] - 1;
    sum += error * error;
  }
  return sum;
}

// Ninth decile of |measured / predicted - 1|.
double SpreadOf(const std::vector<Row>& rows, const Row& x) {
  std::vector<double> errors;
  for (const Row& row : rows) {
    const double predicted = row[0] * x[0] + row[1] * x[1] + row[2] * x[2];
    errors.push_back(predicted > 0 ? std::abs(1 / predicted - 1) : 1);
  }
  return errors.empty() ? 0 : Quantile(errors, 0.9);
}

}  // namespace

RooflineFit FitRoofline(std::span<const WorkPoint> points) {
  RooflineFit fit;
  std::vector<Row> rows;
  for (const WorkPoint& point : points) {
    if (!(point.ns > 0)) continue;
    rows.push_back({1 / point.ns, point.flops / point.ns, point.bytes / point.ns});
    fit.max_flops = std::max(fit.max_flops, point.flops);
    fit.max_bytes = std::max(fit.max_bytes, point.bytes);
  }
  fit.points = static_cast<int>(rows.size());
  if (rows.empty()) return fit;
  // Columns of equal size keep the equations well conditioned.
  Row scale{};
  for (const Row& row : rows) {
    for (size_t k = 0; k < kTerms; ++k) scale[k] = std::max(scale[k], std::abs(row[k]));
  }
  for (Row& row : rows) {
    for (size_t k = 0; k < kTerms; ++k) row[k] = scale[k] > 0 ? row[k] / scale[k] : 0;
  }
  Row best{};
  double least = std::numeric_limits<double>::infinity();
  for (int terms = 1; terms <= kTerms; ++terms) {
    for (unsigned subset = 1; subset < 1u << kTerms; ++subset) {
      Row solution;
      if (std::popcount(subset) != terms || !Solve(rows, subset, &solution)) continue;
      if (std::any_of(solution.begin(), solution.end(), [](double x) { return x < 0; })) continue;
      const double error = SquaredError(rows, solution);
      if (error < least * (1 - 1e-9) - 1e-18) {
        least = error;
        best = solution;
      }
    }
  }
  fit.spread = SpreadOf(rows, best);
  fit.fixed_ns = scale[0] > 0 ? best[0] / scale[0] : 0;
  fit.ns_per_flop = scale[1] > 0 ? best[1] / scale[1] : 0;
  fit.ns_per_byte = scale[2] > 0 ? best[2] / scale[2] : 0;
  return fit;
}

}  // namespace lanescope::sims
