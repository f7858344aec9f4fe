// SPDX-License-Identifier: Apache-2.0
// SplitMix64 (Steele, Lea and Flood 2014): the same numbers with every standard library. Internal to core and
// sims.
#pragma once

#include <cstdint>

namespace lanescope {

inline constexpr uint64_t kSplitMixStep = 0x9E3779B97F4A7C15u;

// Element 0 of the stream of `seed`; as good a hash.
inline uint64_t SplitMix(uint64_t seed) {
  seed += kSplitMixStep;
  seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9u;
  seed = (seed ^ (seed >> 27)) * 0x94D049BB133111EBu;
  return seed ^ (seed >> 31);
}

class SplitMixStream {
 public:
  explicit SplitMixStream(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    const uint64_t number = SplitMix(state_);
    state_ += kSplitMixStep;
    return number;
  }

 private:
  uint64_t state_;
};

}  // namespace lanescope
