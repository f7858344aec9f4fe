// What usually passes between two things of a trace. Internal to traces.
#pragma once

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
  void Settle(int64_t (*figure)(const std::vector<int64_t>&), int64_t otherwise) {
    std::vector<int64_t> all;
    for (const auto& [key, of_key] : samples_) {
      figures_[key] = figure(of_key);
      all.insert(all.end(), of_key.begin(), of_key.end());
    }
    otherwise_ = all.empty() ? otherwise : figure(all);
  }
  int64_t Of(const Key& key) const {
    const auto found = figures_.find(key);
    return found == figures_.end() ? otherwise_ : found->second;
  }

 private:
  std::map<Key, std::vector<int64_t>> samples_;
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
