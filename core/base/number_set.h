// SPDX-License-Identifier: Apache-2.0
// A set of small numbers whose least member is at hand.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanescope {

// Numbers below a size given once: a bit each, and above every 64 words another one that tells which of them
// are not empty. Add and RemoveLeast touch a word a level and compare nothing, so that they cost the same for
// two members and for a million. Owned and used by one thread.
class NumberSet {
 public:
  explicit NumberSet(size_t size = 0) {
    do {
      first_[levels_++] = words_.size();
      size = (size + 63) / 64;
      words_.resize(words_.size() + (size == 0 ? 1 : size));
    } while (size > 1);
  }

  bool empty() const { return words_.back() == 0; }
  void Add(size_t number) {
    for (int level = 0; level < levels_; ++level) {
      uint64_t& word = words_[first_[level] + number / 64];
      const bool known = word != 0;
      word |= uint64_t{1} << (number % 64);
      if (known) return;
      number /= 64;
    }
  }
  // The least number of a set that is not empty.
  size_t Least() const {
    size_t number = 0;
    for (int level = levels_; level-- > 0;)
      number = number * 64 + static_cast<size_t>(std::countr_zero(words_[first_[level] + number]));
    return number;
  }
  void RemoveLeast() {
    size_t number = Least();
    for (int level = 0; level < levels_; ++level) {
      number /= 64;
      uint64_t& word = words_[first_[level] + number];
      word &= word - 1;  // the least is the lowest bit of its word on every level
      if (word != 0) return;
    }
  }
  void Clear() { words_.assign(words_.size(), 0); }

 private:
  static constexpr int kMostLevels = 11;  // of 64-bit sizes
  std::vector<uint64_t> words_;           // level 0 first; the last one is the only word of its level
  size_t first_[kMostLevels] = {};        // word of every level
  int levels_ = 0;
};

}  // namespace lanescope
