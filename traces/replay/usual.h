// SPDX-License-Identifier: Apache-2.0
// Usual times between two things of a trace. Internal to traces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/statistics.h"

namespace lanescope::traces {

// Samples by what they depend on.
template <typename Key>
class Usual {
 public:
  void Add(const Key& key, int64_t ns) { samples_[key].push_back(ns); }
  // A sample that is no less than what is asked for: few others count for no more than the least of these.
  void Bound(const Key& key, int64_t ns) {
    const auto [entry, is_new] = bounds_.try_emplace(key, ns);
    if (!is_new) entry->second = std::min(entry->second, ns);
  }
  void Settle(int64_t (*figure)(const std::vector<int64_t>&), int64_t otherwise) {
    std::vector<int64_t> all;
    for (const auto& [key, of_key] : samples_) {
      figures_[key] = figure(of_key);
      const auto bound = bounds_.find(key);
      if (std::ssize(of_key) < kFew && bound != bounds_.end())
        figures_[key] = std::min(figures_[key], bound->second);
      all.insert(all.end(), of_key.begin(), of_key.end());
    }
    otherwise_ = all.empty() ? otherwise : figure(all);
    for (const auto& [key, bound] : bounds_) figures_.try_emplace(key, std::min(otherwise_, bound));
  }
  int64_t count(const Key& key) const {
    const auto found = samples_.find(key);
    return found == samples_.end() ? 0 : std::ssize(found->second);
  }
  int64_t Of(const Key& key) const {
    const auto found = figures_.find(key);
    return found == figures_.end() ? otherwise_ : found->second;
  }

 private:
  static constexpr int64_t kFew = 8;
  std::map<Key, std::vector<int64_t>> samples_;
  std::map<Key, int64_t> bounds_;
  std::map<Key, int64_t> figures_;
  int64_t otherwise_ = 0;
};

inline int64_t LowerQuartile(const std::vector<int64_t>& samples) {
  return static_cast<int64_t>(Quantile(samples, 0.25));
}
// Gaps add up along a stream.
inline int64_t MiddleMean(const std::vector<int64_t>& samples) {
  return static_cast<int64_t>(TrimmedMean(samples, 50));
}
inline int64_t MiddleOf(const std::vector<int64_t>& samples) { return Median(samples); }

}  // namespace lanescope::traces
