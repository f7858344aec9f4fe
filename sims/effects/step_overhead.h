// SPDX-License-Identifier: Apache-2.0
// The step itself: what passes before its first commands and after its last one.
#pragma once

#include <cstdint>

#include "sims/effects/effect.h"

namespace lanescope::sims {

struct StepOverhead final : Effect {
  static const EffectKind kKind;
  int64_t start_ns = 0, finish_ns = 0;

  void AddTo(SimulationModel* model) const override;
};

}  // namespace lanescope::sims
