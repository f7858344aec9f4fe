// SPDX-License-Identifier: Apache-2.0
// Hashes of table keys: all 64 bits are mixed, so that the low ones choose a slot.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace lanescope::exec {

// The high and low half of a 128-bit product folded together: each input bit reaches every output bit.
inline uint64_t FoldedProduct(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashOf(uint64_t key) { return FoldedProduct(key ^ 0x9E3779B97F4A7C15u, 0xD6E8FEB86659FD93u); }
inline uint64_t HashOf(int64_t key) { return HashOf(static_cast<uint64_t>(key)); }
inline uint64_t HashOf(int32_t key) { return HashOf(static_cast<uint64_t>(key)); }
inline uint64_t HashOf(double key) {
  key += 0.0;  // -0 equals 0
  uint64_t bits;
  std::memcpy(&bits, &key, sizeof bits);
  return HashOf(bits);
}
inline uint64_t HashOf(float key) { return HashOf(static_cast<double>(key)); }
inline uint64_t HashOf(bool key) { return HashOf(static_cast<uint64_t>(key)); }
inline uint64_t HashOf(uint8_t key) { return HashOf(static_cast<uint64_t>(key)); }

// Eight bytes at a time; the last, partial word overlaps the one before.
inline uint64_t HashOf(const std::string& key) {
  const char* data = key.data();
  const size_t size = key.size();
  const auto load = [&](size_t at, size_t bytes) {
    uint64_t word = 0;
    std::memcpy(&word, data + at, bytes);
    return word;
  };
  uint64_t hash = size * 0x9E3779B97F4A7C15u;
  if (size >= 8) {
    for (size_t at = 0; at + 8 < size; at += 8) hash = FoldedProduct(hash ^ load(at, 8), 0xD6E8FEB86659FD93u);
    return HashOf(hash ^ load(size - 8, 8));
  }
  if (size >= 4) return HashOf(hash ^ (load(0, 4) | load(size - 4, 4) << 32));
  return HashOf(hash ^ load(0, size));
}

}  // namespace lanescope::exec
