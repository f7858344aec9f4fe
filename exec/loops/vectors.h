// SPDX-License-Identifier: Apache-2.0
// Vectors of the instruction set that a loop file is compiled for, and the register tile that matrix products
// and convolutions share: kTileRows rows times kPanelVectors vectors of totals.
#pragma once

#include <cstdint>
#include <utility>

#include "exec/functors/isa.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kTileRows = 12;  // 24 totals of 32 registers
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kTileRows = 6;  // 12 of 16
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kTileRows = 4;  // 8 of 16: a product needs a register of its own
#endif
inline constexpr int kPanelVectors = 2;

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <typename T>
using Vector = typename VectorOf<T>::Type;
template <typename T>
inline constexpr int kVectorLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <typename T>
inline constexpr int kPanel = kPanelVectors* kVectorLanes<T>;

template <typename T>
inline Vector<T> Load(const T* from) {
  return *reinterpret_cast<const Vector<T>*>(from);
}
template <typename T>
inline void Store(T* to, Vector<T> value) {
  *reinterpret_cast<Vector<T>*>(to) = value;
}

// The first `valid` lanes, of which there may be more than a vector has, or none; the others are 0. A loop of
// fixed length becomes one masked instruction where there are such.
template <typename T>
inline Vector<T> LoadSome(const T* from, int64_t valid) {
  if (valid >= kVectorLanes<T>) return Load(from);
  T lanes[kVectorLanes<T>];
  for (int i = 0; i < kVectorLanes<T>; ++i) lanes[i] = i < valid ? from[i] : T(0);
  return Load(lanes);
}
template <typename T>
inline void StoreSome(T* to, Vector<T> value, int64_t valid) {
  if (valid >= kVectorLanes<T>) return Store(to, value);
  T lanes[kVectorLanes<T>];
  Store(lanes, value);
  for (int i = 0; i < kVectorLanes<T>; ++i) {
    if (i < valid) to[i] = lanes[i];
  }
}

// Lanes of a and b in turn: those of the lower halves, or of the upper ones.
template <typename T, bool kUpper, int... kLane>
inline Vector<T> Interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, kLane...>) {
  constexpr int kLanes = kVectorLanes<T>;
  return __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * kLanes + (kUpper ? kLanes / 2 : 0))...);
}

// to[i][j] = from[j][i] of a square of as many rows as a vector has lanes. Interleaving row i with the one
// that is half the rows away, as often as halving leaves anything, turns the square.
template <typename T>
inline void TransposeTile(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int kLanes = kVectorLanes<T>;
  constexpr std::make_integer_sequence<int, kLanes> lanes;
  Vector<T> rows[kLanes], next[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) rows[i] = Load(from + i * from_step);
#pragma GCC unroll 4
  for (int left = kLanes; left > 1; left /= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = Interleave<T, false>(rows[i], rows[i + kLanes / 2], lanes);
      next[2 * i + 1] = Interleave<T, true>(rows[i], rows[i + kLanes / 2], lanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) Store(to + i * to_step, rows[i]);
}

// Tiles of almost equal height rather than full ones and a rest, since short tiles wait for their own sums.
template <typename Fn>
inline void EvenTiles(int64_t n, const Fn& fn) {
  const int64_t tiles = (n + kTileRows - 1) / kTileRows;
  int64_t begin = 0;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t end = n * (tile + 1) / tiles;
    fn(begin, end - begin);
    begin = end;
  }
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
