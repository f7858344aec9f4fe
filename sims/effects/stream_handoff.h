// SPDX-License-Identifier: Apache-2.0
// A stream goes on when another one is through, or the host does.
#pragma once

#include <cstdint>

#include "sims/effects/effect.h"

namespace lanescope::sims {

// In ns: from a command of a stream to the first of another stream that waits for it; to one of the host.
struct StreamHandOff final : Effect {
  static const EffectKind kKind;
  int64_t between_ns = 0;
  int64_t to_host_ns = 0;

  void AddTo(SimulationModel* model) const override;
};

}  // namespace lanescope::sims
