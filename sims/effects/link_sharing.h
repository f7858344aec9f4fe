// SPDX-License-Identifier: Apache-2.0
// Copies at the same time share links and buses.
#pragma once

#include "sims/effects/effect.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {

// It has no numbers of its own: the machine file has them.
struct LinkSharing final : Effect {
  static const EffectKind kKind;

  void AddTo(SimulationModel* model) const override { model->share_links = true; }
};

}  // namespace lanescope::sims
