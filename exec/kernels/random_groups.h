// SPDX-License-Identifier: Apache-2.0
// Groups of random numbers from their place in a Philox stream: the numbers that host kernels make, so that a
// graph draws the same ones wherever it runs. Evaluated on host and device.
#pragma once

#include <cstdint>

#include "exec/functors/philox.h"

namespace lanescope::exec {

enum class Distribution : int { kUniform, kNormal, kTruncatedNormal };

// Where a launch's numbers begin in a stream.
struct StreamStart {
  StreamStart(const Philox& begin) : philox(begin) {}
  // The stream that a key and a counter say, in the memory of the device.
  StreamStart(const uint64_t* key_at, const uint64_t* counter_at)
      : philox(0, 0), key(key_at), counter(counter_at) {}

  LANESCOPE_HOST_DEVICE Philox At() const {
    if (key == nullptr) return philox;
    Philox begin(key[0], counter[1]);
    begin.Skip(counter[0]);
    return begin;
  }

  Philox philox;
  const uint64_t* key = nullptr;
  const uint64_t* counter = nullptr;
};

// Blocks of the stream that a launch reserves for each element, whatever it uses.
inline constexpr uint64_t kReservedBlocks = 256;

// Numbers per group: a block of four words gives four of 32 bits or two of 64.
template <typename T>
inline constexpr int kGroup = static_cast<int>(16 / sizeof(T));

template <typename T>
using RandomGroup = NumberGroup<T, static_cast<size_t>(kGroup<T>)>;

LANESCOPE_HOST_DEVICE inline RandomGroup<float> UniformGroup(const Philox::Block& w, float) {
  return {{UnitFloat(w[0]), UnitFloat(w[1]), UnitFloat(w[2]), UnitFloat(w[3])}};
}
LANESCOPE_HOST_DEVICE inline RandomGroup<double> UniformGroup(const Philox::Block& w, double) {
  return {{UnitDouble(w[0], w[1]), UnitDouble(w[2], w[3])}};
}
LANESCOPE_HOST_DEVICE inline RandomGroup<float> NormalGroup(const Philox::Block& w, float) {
  const auto first = NormalPair(w[0], w[1]);
  const auto second = NormalPair(w[2], w[3]);
  return {{first[0], first[1], second[0], second[1]}};
}
LANESCOPE_HOST_DEVICE inline RandomGroup<double> NormalGroup(const Philox::Block& w, double) {
  return NormalPair(w[0], w[1], w[2], w[3]);
}

LANESCOPE_HOST_DEVICE inline NumberGroup<float, 2> NextNormalPair(PhiloxWords& words, float) {
  const uint32_t word0 = words.Next();
  const uint32_t word1 = words.Next();
  return NormalPair(word0, word1);
}
LANESCOPE_HOST_DEVICE inline NumberGroup<double, 2> NextNormalPair(PhiloxWords& words, double) {
  const uint32_t word0 = words.Next();
  const uint32_t word1 = words.Next();
  const uint32_t word2 = words.Next();
  return NormalPair(word0, word1, word2, words.Next());
}

// Normal numbers within two standard deviations; others are drawn again from the group's own stretch.
template <typename T>
LANESCOPE_HOST_DEVICE RandomGroup<T> TruncatedGroup(Philox philox, int64_t group) {
  philox.Skip(static_cast<uint64_t>(group) * (static_cast<uint64_t>(kGroup<T>) * kReservedBlocks / 4));
  PhiloxWords words(philox);
  RandomGroup<T> values{};
  int count = 0;
  while (count < kGroup<T>) {
    const auto pair = NextNormalPair(words, T{});
    for (size_t k = 0; k < 2; ++k) {
      const T value = pair[k];
      if (count < kGroup<T> && value < T(2) && value > T(-2)) values[static_cast<size_t>(count++)] = value;
    }
  }
  return values;
}

template <typename T>
LANESCOPE_HOST_DEVICE RandomGroup<T> GroupOf(Distribution distribution, Philox philox, int64_t group) {
  if (distribution == Distribution::kTruncatedNormal) return TruncatedGroup<T>(philox, group);
  philox.Skip(static_cast<uint64_t>(group));
  const Philox::Block block = philox.Next();
  return distribution == Distribution::kUniform ? UniformGroup(block, T{}) : NormalGroup(block, T{});
}

// Integers in [low, low + range).
LANESCOPE_HOST_DEVICE inline RandomGroup<int32_t> IntegerGroup(const Philox::Block& w, int64_t low,
                                                               uint64_t range, int32_t) {
  RandomGroup<int32_t> values{};
  for (size_t i = 0; i < 4; ++i) {
    values[i] = static_cast<int32_t>(static_cast<uint64_t>(low) + uint64_t{w[i]} % range);
  }
  return values;
}
LANESCOPE_HOST_DEVICE inline RandomGroup<int64_t> IntegerGroup(const Philox::Block& w, int64_t low,
                                                               uint64_t range, int64_t) {
  RandomGroup<int64_t> values{};
  for (size_t i = 0; i < 2; ++i) {
    const uint64_t word = uint64_t{w[2 * i + 1]} << 32 | w[2 * i];
    values[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + word % range);
  }
  return values;
}

}  // namespace lanescope::exec
