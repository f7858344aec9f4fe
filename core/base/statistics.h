// SPDX-License-Identifier: Apache-2.0
// Figures of samples, each defined once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace lanescope {

// The middle sample; of an even number of samples the mean of the two in the middle. Not of an empty vector.
template <typename T>
T Median(std::vector<T> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  const T below = *std::max_element(samples.begin(), middle);
  return below + (*middle - below) / 2;
}

// The value below which the fraction `p` of the sorted samples lies, by linear interpolation between the two
// nearest: position p * (n - 1), as NumPy's default does. Not of an empty span.
inline double QuantileOfSorted(std::span<const double> sorted, double p) {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

template <typename T>
double Quantile(const std::vector<T>& samples, double p) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return QuantileOfSorted(sorted, p);
}

// The samples without the quarter that is smallest and the one that is largest by `key`: what is typical of
// them. At least one of those that there are.
template <typename T, typename Key>
std::vector<T> MiddleHalf(std::vector<T> samples, Key key) {
  std::stable_sort(samples.begin(), samples.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
  const auto quarter = static_cast<std::ptrdiff_t>(samples.size() / 4);
  samples.erase(samples.end() - quarter, samples.end());
  samples.erase(samples.begin(), samples.begin() + quarter);
  return samples;
}

// Mean without the lowest and the highest sample of every `one_in`. Not of an empty vector.
template <typename T>
double TrimmedMean(std::vector<T> samples, size_t one_in) {
  std::sort(samples.begin(), samples.end());
  const auto cut = static_cast<std::ptrdiff_t>(samples.size() / one_in);
  const double sum = std::accumulate(samples.begin() + cut, samples.end() - cut, 0.0);
  return sum / static_cast<double>(samples.end() - samples.begin() - 2 * cut);
}

struct Spread {
  double median = 0, p25 = 0, p75 = 0;
  int64_t min = 0, max = 0;
  int64_t count = 0;
};
// Empty for no values.
std::optional<Spread> SpreadOf(std::span<const int64_t> values);

}  // namespace lanescope
