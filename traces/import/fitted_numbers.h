// SPDX-License-Identifier: Apache-2.0
// Numbers of other tools in the room that an export has for them. Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace lanescope::traces {

// Numbers keep their value where that is from 0 to `most` and no other has taken it; handles of 64 bits get
// the next that is free, from `first` on. Of one thread.
class FittedNumbers {
 public:
  FittedNumbers(int64_t most, int64_t first) : most_(most), next_(first) {}

  int64_t Of(int64_t number) {
    const auto known = fitted_.find(number);
    if (known != fitted_.end()) return known->second;
    // A file with as many is damaged: they share numbers then.
    if (fitted_.size() >= kMostNumbers) return number & most_;
    const bool fits = number >= 0 && number <= most_ && taken_.insert(number).second;
    int64_t fitted = number;
    if (!fits) {
      while (!taken_.insert(next_).second) next_ = next_ == most_ ? 0 : next_ + 1;
      fitted = next_;
    }
    fitted_.emplace(number, fitted);
    return fitted;
  }

  // By number in the file.
  const std::map<int64_t, int64_t>& all() const { return fitted_; }

 private:
  static constexpr size_t kMostNumbers = size_t{1} << 18;
  int64_t most_, next_;
  std::map<int64_t, int64_t> fitted_;
  std::set<int64_t> taken_;
};

}  // namespace lanescope::traces
