// SPDX-License-Identifier: Apache-2.0
#include "gui/model/what_if_effect.h"

namespace lanescope::gui {

std::optional<WhatIfEffect> EffectOf(const RunData& run) {
  if (run.kind != RunKind::kWhatIf || run.unchanged_step_ns <= 0 || run.step_ns <= 0) return std::nullopt;
  const auto unchanged = static_cast<double>(run.unchanged_step_ns);
  WhatIfEffect effect{.change = static_cast<double>(run.step_ns) / unchanged - 1, .bias = {}};
  if (run.measured_step_ns > 0) effect.bias = unchanged / static_cast<double>(run.measured_step_ns) - 1;
  return effect;
}

}  // namespace lanescope::gui
