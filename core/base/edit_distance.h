// SPDX-License-Identifier: Apache-2.0
// How alike two names are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace lanescope {

// Levenshtein distance, or `limit` where it is at least that much.
inline size_t EditDistance(std::string_view a, std::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    size_t smallest = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
      smallest = std::min(smallest, row[j]);
    }
    if (smallest >= limit) return limit;
  }
  return std::min(row[b.size()], limit);
}

// The nearest of `names` to `name`, if at most half of the letters of the longer one
// are wrong; else empty.
template <typename Names>
std::string_view NearName(std::string_view name, const Names& names) {
  std::string_view nearest;
  name = name.substr(0, 100);
  size_t least = name.size() + 100;
  for (const std::string_view other : names) {
    const size_t distance = EditDistance(name, other, least);
    if (distance >= least || 2 * distance > std::max(name.size(), other.size())) continue;
    least = distance;
    nearest = other;
  }
  return nearest;
}

}  // namespace lanescope
