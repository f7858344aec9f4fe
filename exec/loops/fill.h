// SPDX-License-Identifier: Apache-2.0
// The part of each loop file in the dispatcher: one function per instruction set that writes its part of the
// table.
#pragma once

#include "exec/functors/isa.h"
#include "exec/loops/loops.h"

#define LANESCOPE_DECLARE_FILLS       \
  void FillUnary(Loops& loops);       \
  void FillBinary(Loops& loops);      \
  void FillCompare(Loops& loops);     \
  void FillCast(Loops& loops);        \
  void FillReduce(Loops& loops);      \
  void FillProduct(Loops& loops);     \
  void FillConvolution(Loops& loops); \
  void FillPool(Loops& loops);        \
  void FillNorm(Loops& loops);        \
  void FillRows(Loops& loops);        \
  void FillTrain(Loops& loops);

namespace lanescope::exec {
#if defined(__x86_64__)
namespace isa_v2 {
LANESCOPE_DECLARE_FILLS
}
namespace isa_v3 {
LANESCOPE_DECLARE_FILLS
}
namespace isa_v4 {
LANESCOPE_DECLARE_FILLS
}
#else
namespace isa_base {
LANESCOPE_DECLARE_FILLS
}
#endif
}  // namespace lanescope::exec
