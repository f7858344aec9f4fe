// SPDX-License-Identifier: Apache-2.0
// The messages of a task keep the thread busy that moves them.
#pragma once

#include <cstdint>

#include "sims/effects/effect.h"

namespace lanescope::sims {

// For so long where a message is sent, and again where it is received, there with `byte_ns` for each byte on
// top (LogGP's o, and what a copy adds; Alexandrov et al. 1995).
struct ProgressThreads final : Effect {
  static const EffectKind kKind;
  int64_t overhead_ns = 0;
  double byte_ns = 0;

  void AddTo(SimulationModel* model) const override;
  void HandOn(EffectSet* effects) const override;
};

}  // namespace lanescope::sims
