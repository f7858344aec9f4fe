// SPDX-License-Identifier: Apache-2.0
// Logical devices of one GPU slow each other down.
#pragma once

#include "core/machine/work_class.h"
#include "sims/effects/effect.h"

namespace lanescope::sims {

struct SharedGpu final : Effect {
  static const EffectKind kKind;
  SlowdownMatrix slowdown{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};  // at least 1

  void AddTo(SimulationModel* model) const override;
  void HandOn(EffectSet* effects) const override;
};

}  // namespace lanescope::sims
