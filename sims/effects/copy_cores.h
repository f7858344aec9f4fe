// SPDX-License-Identifier: Apache-2.0
// Copies between devices that are made of threads take part of a core.
#pragma once

#include "sims/effects/effect.h"

namespace lanescope::sims {

struct CopyCores final : Effect {
  static const EffectKind kKind;
  double cores = 0;  // that one copy keeps busy: a paced copy sleeps most of its time

  void AddTo(SimulationModel* model) const override;
  void HandOn(EffectSet* effects) const override;
};

}  // namespace lanescope::sims
