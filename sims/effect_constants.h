// What the effects take as given on every machine. All else that they know is measured on the machine that is
// predicted, and lies in its cost table (GapModel, Interference, FetchCurve).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/schedule/dispatch.h"

namespace lanescope::sims {

struct Constant {
  std::string_view effect;  // as in AllEffects
  std::string_view name, unit;
  int64_t value = 0;
  std::string_view source;

  constexpr operator int64_t() const { return value; }
};

struct EffectConstants {
  Constant trimmed_part{
      "dispatch", "trimmed_part", "1", 50,
      "chosen: one part of so many is left out at either end of the gaps whose mean is taken"};
  Constant awake_ns{"wake-up", "awake_ns", "ns", 100'000,
                    "chosen: several times what waking takes on a free core"};
  Constant awake_handoffs{"wake-up", "awake_handoffs", "hand-offs", 2,
                          "chosen: a driver that begins within so many was awake in time"};
  Constant endless_slice_ns{"core wait", "endless_slice_ns", "ns", 1'000'000'000,
                            "chosen: beyond every time slice; SCHED_FIFO has none that ends"};
  Constant piece_elements{"cores", "piece_elements", "elements", kPieceElements,
                          "the kernels: they hand out so many at once"};
  Constant piece_flops{"cores", "piece_flops", "operations", kPieceFlops,
                       "the kernels: they hand out so many at once"};
  Constant kept_part{"fetches", "kept_part", "1", 2,
                     "chosen: a calibrated launch that reads a copy keeps one part of so many at least"};
  Constant flops_per_byte{"shared GPU", "flops_per_byte", "operations a byte", 4,
                          "chosen: matrix products have more, element-wise ops fewer"};
};
inline constexpr EffectConstants kEffectConstants;

constexpr auto AllEffectConstants() {
  const EffectConstants& c = kEffectConstants;
  const std::array all = {&c.trimmed_part,   &c.awake_ns,    &c.awake_handoffs, &c.endless_slice_ns,
                          &c.piece_elements, &c.piece_flops, &c.kept_part,      &c.flops_per_byte};
  static_assert(sizeof(EffectConstants) == all.size() * sizeof(Constant), "a constant is not listed");
  return all;
}

}  // namespace lanescope::sims
