// Figures of samples, each defined once.
#pragma once

#include <algorithm>
#include <cstddef>
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

}  // namespace lanescope
