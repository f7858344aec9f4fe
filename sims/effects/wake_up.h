// SPDX-License-Identifier: Apache-2.0
// A driver that slept since the last step wakes.
#pragma once

#include "sims/effects/effect.h"
#include "sims/effects/queue_gaps.h"

namespace lanescope::sims {

// A driver that is woken by its queue's first ready command picks so much later.
struct WakeUp final : Effect {
  static const EffectKind kKind;
  QueueTimes ns{};

  void AddTo(SimulationModel* model) const override;
};

}  // namespace lanescope::sims
