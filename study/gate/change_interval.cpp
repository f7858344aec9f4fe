// SPDX-License-Identifier: Apache-2.0
#include "study/gate/change_interval.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/base/statistics.h"

namespace lanescope::study {
namespace {

// Beyond so many steps of the exact count a normal distribution is as good.
constexpr int64_t kExactPairs = 400;
constexpr int64_t kExactProducts = 10'000;
constexpr double kGross = 5;

// 1 - the regularized incomplete beta function that Student's distribution is made of, by its continued
// fraction (Lentz).
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - IncompleteBeta(b, a, 1 - x);
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x)) /
      a;
  constexpr double kTiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double fraction = d;
  for (int i = 1; i < 500; ++i) {
    const double m = i;
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 + term * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::abs(c) < kTiny) c = kTiny;
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return front * fraction;
}

double NormalQuantile(double alpha) { return StudentQuantile(alpha, 1e6); }

// How many of the smallest values may be left out: the largest k for which the statistic is below k with
// probability `alpha` at most. `weights`: how often each value comes, of `total`.
int64_t LeftOut(const std::vector<double>& weights, double total, double alpha) {
  double below = 0;
  int64_t k = 0;
  for (const double weight : weights) {
    below += weight / total;
    if (below > alpha) break;
    ++k;
  }
  return k;
}

int64_t LeftOutOfPairs(int64_t n, double alpha) {
  if (n > kExactPairs) {
    const auto count = static_cast<double>(n);
    const double spread = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
    return std::max<int64_t>(
        0, std::llround(std::floor(count * (count + 1) / 4 - NormalQuantile(alpha) * spread - 0.5)));
  }
  // The sums of ranks that may be positive, scaled so that none overflows.
  std::vector<double> weights{1};
  for (int64_t rank = 1; rank <= n; ++rank) {
    std::vector<double> next(weights.size() + static_cast<size_t>(rank));
    for (size_t s = 0; s < weights.size(); ++s) {
      next[s] += weights[s] / 2;
      next[s + static_cast<size_t>(rank)] += weights[s] / 2;
    }
    weights = std::move(next);
  }
  return LeftOut(weights, 1, alpha);
}

int64_t LeftOutOfSamples(int64_t n, int64_t m, double alpha) {
  if (n * m > kExactProducts) {
    const auto a = static_cast<double>(n), b = static_cast<double>(m);
    const double spread = std::sqrt(a * b * (a + b + 1) / 12);
    return std::max<int64_t>(0, std::llround(std::floor(a * b / 2 - NormalQuantile(alpha) * spread - 0.5)));
  }
  // Gaussian binomials: orders of n and m things by how many of the first stand behind how many of the
  // second, as a fraction of all orders.
  std::vector<double> weights(static_cast<size_t>(n * m) + 1);
  weights[0] = 1;
  double total = 1;
  for (int64_t i = 1; i <= n; ++i) {
    for (size_t s = weights.size(); s-- > static_cast<size_t>(m + i);)
      weights[s] -= weights[s - static_cast<size_t>(m + i)];
    for (size_t s = static_cast<size_t>(i); s < weights.size(); ++s)
      weights[s] += weights[s - static_cast<size_t>(i)];
    const double orders = static_cast<double>(m + i) / static_cast<double>(i);
    for (double& weight : weights) weight /= orders;
  }
  return LeftOut(weights, total, alpha);
}

// For n signs, each as likely as its opposite.
int64_t LeftOutOfSigns(size_t n, double alpha) {
  std::vector<double> weights{1};
  for (size_t i = 0; i < n; ++i) {
    weights.push_back(0);
    for (size_t s = weights.size() - 1; s > 0; --s) weights[s] = (weights[s] + weights[s - 1]) / 2;
    weights[0] /= 2;
  }
  return LeftOut(weights, 1, alpha);
}

// Whether a few differences are so far from the usual ones that nothing of their size is to be believed. Of a
// normal distribution nine in ten are below 2.4 times the middle one.
bool HasGrossOnes(std::span<const double> differences) {
  std::vector<double> sizes;
  for (const double difference : differences) sizes.push_back(std::abs(difference));
  std::ranges::sort(sizes);
  return QuantileOfSorted(sizes, 0.9) > kGross * QuantileOfSorted(sizes, 0.5);
}

// The interval that is left of sorted values without the k-1 smallest and largest.
std::optional<ChangeInterval> WithoutEnds(std::vector<double> values, int64_t k) {
  if (k < 1 || 2 * k > static_cast<int64_t>(values.size()) + 1) return std::nullopt;
  std::ranges::sort(values);
  const auto first = static_cast<size_t>(k - 1);
  return ChangeInterval{Median(values), values[first], values[values.size() - 1 - first]};
}

}  // namespace

double StudentQuantile(double alpha, double freedom) {
  const auto exceeded = [&](double t) {
    return IncompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  };
  double low = 0, high = 1;
  while (exceeded(high) > alpha && high < 1e12) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (exceeded(middle) > alpha ? low : high) = middle;
  }
  return high;
}

std::optional<ChangeInterval> PairedChange(std::span<const double> differences, double alpha) {
  if (differences.empty()) return std::nullopt;
  if (HasGrossOnes(differences)) {
    return WithoutEnds({differences.begin(), differences.end()}, LeftOutOfSigns(differences.size(), alpha));
  }
  std::vector<double> means;
  for (size_t i = 0; i < differences.size(); ++i) {
    for (size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
  }
  return WithoutEnds(std::move(means), LeftOutOfPairs(static_cast<int64_t>(differences.size()), alpha));
}

int FewestPairs(double alpha) {
  int n = 1;
  for (double all_alike = 0.5; all_alike > alpha; all_alike /= 2) ++n;
  return n;
}

std::optional<ChangeInterval> TwoSampleChange(std::vector<double> differences, int base, int candidate,
                                              double alpha) {
  return WithoutEnds(std::move(differences), LeftOutOfSamples(base, candidate, alpha));
}

ChangeInterval SpreadChange(double value, double error, double freedom, double alpha) {
  const double reach = error > 0 ? StudentQuantile(alpha, freedom) * error : 0;
  return {value, value - reach, value + reach};
}

}  // namespace lanescope::study
