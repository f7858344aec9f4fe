// SPDX-License-Identifier: Apache-2.0
// The counter-based generator Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC 2011) with the state layout, conversions and distributions of TensorFlow's CPU kernels, so
// that a stream is the same numbers here and there. Internal to exec.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "exec/functors/isa.h"

namespace lanescope::exec {

// Numbers that come together: a std::array for host and device.
template <typename T, size_t kCount>
struct NumberGroup {
  T at[kCount];
  LANESCOPE_HOST_DEVICE T& operator[](size_t i) { return at[i]; }
  LANESCOPE_HOST_DEVICE const T& operator[](size_t i) const { return at[i]; }
  LANESCOPE_HOST_DEVICE const T* begin() const { return at; }
  LANESCOPE_HOST_DEVICE const T* end() const { return at + kCount; }
  friend bool operator==(const NumberGroup&, const NumberGroup&) = default;
  operator std::array<T, kCount>() const {
    std::array<T, kCount> copy;
    for (size_t i = 0; i < kCount; ++i) copy[i] = at[i];
    return copy;
  }
};

// A value type: key and 128-bit counter. Each counter value gives four 32-bit words.
class Philox {
 public:
  using Block = NumberGroup<uint32_t, 4>;

  // Key: the first seed. The upper half of the counter: the second.
  LANESCOPE_HOST_DEVICE Philox(uint64_t seed, uint64_t seed2)
      : key_{Low(seed), High(seed)}, counter_{{0, 0, Low(seed2), High(seed2)}} {}

  // Passes over `blocks` blocks.
  LANESCOPE_HOST_DEVICE void Skip(uint64_t blocks) {
    const uint64_t low = (uint64_t{counter_[1]} << 32 | counter_[0]) + blocks;
    const bool carry = low < blocks;
    counter_[0] = Low(low);
    counter_[1] = High(low);
    if (carry && ++counter_[2] == 0) ++counter_[3];
  }

  LANESCOPE_HOST_DEVICE Block Next() {
    Block block = counter_;
    uint32_t key0 = key_[0];
    uint32_t key1 = key_[1];
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t product0 = uint64_t{kMultiplier0} * block[0];
      const uint64_t product1 = uint64_t{kMultiplier1} * block[2];
      block = {
          {High(product1) ^ block[1] ^ key0, Low(product1), High(product0) ^ block[3] ^ key1, Low(product0)}};
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    Skip(1);
    return block;
  }

 private:
  static constexpr int kRounds = 10;
  static constexpr uint32_t kMultiplier0 = 0xD2511F53;
  static constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9;
  static constexpr uint32_t kWeyl1 = 0xBB67AE85;

  LANESCOPE_HOST_DEVICE static uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
  LANESCOPE_HOST_DEVICE static uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

  uint32_t key_[2];
  Block counter_;
};

// The words of a Philox one at a time.
class PhiloxWords {
 public:
  LANESCOPE_HOST_DEVICE explicit PhiloxWords(const Philox& philox) : philox_(philox) {}
  LANESCOPE_HOST_DEVICE uint32_t Next() {
    if (used_ == 4) {
      block_ = philox_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  size_t used_ = 4;
};

// [0, 1): 23 bits of the word as the mantissa of a number in [1, 2), less one.
LANESCOPE_HOST_DEVICE inline float UnitFloat(uint32_t word) {
  return __builtin_bit_cast(float, uint32_t{127} << 23 | (word & 0x7FFFFF)) - 1.0f;
}

// [0, 1): 52 bits, the high 20 from the first word.
LANESCOPE_HOST_DEVICE inline double UnitDouble(uint32_t high, uint32_t low) {
  return __builtin_bit_cast(double, uint64_t{1023} << 52 | uint64_t{high & 0xFFFFF} << 32 | low) - 1.0;
}

inline constexpr double kTwoPi = 6.283185307179586;
// Uniform numbers below this are taken for it, so that the logarithm stays finite.
inline constexpr float kSmallestUniform = 1.0e-7f;

// Two independent standard normal numbers (Box and Muller): radius from the first uniform, angle from the
// second.
LANESCOPE_HOST_DEVICE inline NumberGroup<float, 2> NormalPair(uint32_t word0, uint32_t word1) {
  const float uniform = std::fmax(UnitFloat(word0), kSmallestUniform);
  const float angle = static_cast<float>(kTwoPi * static_cast<double>(UnitFloat(word1)));
  const float radius = std::sqrt(-2.0f * std::log(uniform));
  return {{std::sin(angle) * radius, std::cos(angle) * radius}};
}

LANESCOPE_HOST_DEVICE inline NumberGroup<double, 2> NormalPair(uint32_t word0, uint32_t word1, uint32_t word2,
                                                               uint32_t word3) {
  const double uniform = std::fmax(UnitDouble(word0, word1), 1.0e-7);
  const double angle = kTwoPi * UnitDouble(word2, word3);
  const double radius = std::sqrt(-2.0 * std::log(uniform));
  return {{std::sin(angle) * radius, std::cos(angle) * radius}};
}

}  // namespace lanescope::exec
