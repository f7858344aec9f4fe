// Vectors of the instruction set that a loop file is compiled for, and the register tile that matrix products
// and convolutions share: kTileRows rows times kPanelVectors vectors of totals.
#pragma once

#include <cstdint>

#include "exec/loops/isa.h"

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
