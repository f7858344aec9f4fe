// SPDX-License-Identifier: Apache-2.0
#include "exec/functors/cast.h"

#include <tuple>
#include <utility>

#include "exec/loops/fill.h"

namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE {
namespace {

template <typename From, typename To>
void CastAll(int64_t n, const void* x, void* y) {
  const From* in = static_cast<const From*>(x);
  To* out = static_cast<To*>(y);
  const functors::Cast<To, From> op{};
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = op(in[i]);
}

// kCastTypes as C++ types.
using Types =
    std::tuple<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t, uint16_t, uint32_t, uint64_t>;

template <typename From, size_t... to>
void FillRow(CastLoop* row, std::index_sequence<to...>) {
  ((row[to] = CastAll<From, std::tuple_element_t<to, Types>>), ...);
}

template <size_t... from>
void FillTable(Loops& loops, std::index_sequence<from...> all) {
  (FillRow<std::tuple_element_t<from, Types>>(loops.cast[from], all), ...);
}

}  // namespace

void FillCast(Loops& loops) {
  static_assert(std::tuple_size_v<Types> == kNumCastTypes);
  FillTable(loops, std::make_index_sequence<kNumCastTypes>());
}

}  // namespace lanescope::exec::LANESCOPE_ISA_NAMESPACE
