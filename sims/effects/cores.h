// SPDX-License-Identifier: Apache-2.0
// Commands on threads of a host ask for more cores than it has.
#pragma once

#include <vector>

#include "sims/effects/effect.h"
#include "sims/engine/computers.h"

namespace lanescope::sims {

// Where it is there microbenchmarks were made, and the file has a part for what they measured.
struct Cores final : Effect {
  static const EffectKind kKind;
  int cores = 0;                      // of the first computer; 0: no limit
  std::vector<OtherComputer> others;  // beside it

  void AddTo(SimulationModel* model) const override;
  // On the first computer.
  int64_t Without(const MeasuredLaunch& launch, const Machine& machine) const override;
  void HandOn(EffectSet* effects) const override;
};

}  // namespace lanescope::sims
