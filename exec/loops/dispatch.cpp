// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "exec/loops/fill.h"

namespace lanescope::exec {
namespace {

#define LANESCOPE_MAKE_LOOPS(name)      \
  [] {                                  \
    Loops loops;                        \
    loops.isa = #name;                  \
    isa_##name::FillUnary(loops);       \
    isa_##name::FillBinary(loops);      \
    isa_##name::FillCompare(loops);     \
    isa_##name::FillCast(loops);        \
    isa_##name::FillReduce(loops);      \
    isa_##name::FillProduct(loops);     \
    isa_##name::FillConvolution(loops); \
    isa_##name::FillPool(loops);        \
    isa_##name::FillNorm(loops);        \
    isa_##name::FillRows(loops);        \
    isa_##name::FillTrain(loops);       \
    return loops;                       \
  }()

std::vector<Loops> MakeLoops() {
  std::vector<Loops> sets;
#if defined(__x86_64__)
  __builtin_cpu_init();
  sets.push_back(LANESCOPE_MAKE_LOOPS(v2));
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (v3) sets.push_back(LANESCOPE_MAKE_LOOPS(v3));
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v4) sets.push_back(LANESCOPE_MAKE_LOOPS(v4));
#else
  sets.push_back(LANESCOPE_MAKE_LOOPS(base));
#endif
  return sets;
}

}  // namespace

std::span<const Loops> AvailableLoops() {
  static const std::vector<Loops> sets = MakeLoops();
  return sets;
}

const Loops& HostLoops() {
  static const Loops& best = AvailableLoops().back();
  return best;
}

}  // namespace lanescope::exec
