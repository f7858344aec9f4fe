// SPDX-License-Identifier: Apache-2.0
// A driver that is woken waits for a core on which something runs.
#pragma once

#include <cstdint>

#include "sims/effects/effect.h"

namespace lanescope::sims {

struct RunQueueDelay final : Effect {
  static const EffectKind kKind;
  int64_t slice_ns = 0;  // that a thread may keep its core while others wait; 0: nobody waits

  void AddTo(SimulationModel* model) const override;
  void HandOn(EffectSet* effects) const override;
};

}  // namespace lanescope::sims
