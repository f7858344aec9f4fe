// SPDX-License-Identifier: Apache-2.0
#include "exec/loops/element_wise_list.h"
#include "exec/loops/fill.h"
#include "exec/loops/pairwise.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

// On the bytes of bools, which hold 0 or 1.
struct And {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a & b; }
};
struct Or {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a | b; }
};
struct Same {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a == b; }
};
struct Differ {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a != b; }
};

template <typename T>
void Choose(int64_t rows, int64_t n, Operand condition, Operand a, Operand b, void* y) {
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* chosen = static_cast<const uint8_t*>(condition.data) + row * condition.row;
    const T* left = static_cast<const T*>(a.data) + row * a.row;
    const T* right = static_cast<const T*>(b.data) + row * b.row;
    T* out = static_cast<T*>(y) + row * n;
    if (condition.step != 0 && a.step != 0 && b.step != 0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T yes = left[i];
        const T no = right[i];
        out[i] = chosen[i] != 0 ? yes : no;
      }
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T yes = left[i * a.step];
        const T no = right[i * b.step];
        out[i] = chosen[i * condition.step] != 0 ? yes : no;
      }
    }
  }
}

}  // namespace

void FillCompare(Loops& loops) {
  functors::ForEachCompare([&]<typename F, typename... T>(CompareOp op) {
    ((loops.compare[static_cast<size_t>(op)][static_cast<size_t>(functors::kTypeOf<T>)] =
          MapPairs<F, T, bool>),
     ...);
  });
  loops.logical_and = MapPairs<And, uint8_t, uint8_t>;
  loops.logical_or = MapPairs<Or, uint8_t, uint8_t>;
  loops.bool_equal = MapPairs<Same, uint8_t, uint8_t>;
  loops.bool_not_equal = MapPairs<Differ, uint8_t, uint8_t>;
  loops.select_8 = Choose<uint8_t>;
  loops.select_16 = Choose<uint16_t>;
  loops.select_32 = Choose<uint32_t>;
  loops.select_64 = Choose<uint64_t>;
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
