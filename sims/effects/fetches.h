// SPDX-License-Identifier: Apache-2.0
// What another core has just written is fetched from there.
#pragma once

#include "sims/effects/effect.h"
#include "sims/effects/fetch_cost.h"

namespace lanescope::sims {

struct Fetches final : Effect {
  static const EffectKind kKind;
  FetchCurve curve;

  // Launches that read first what a copy brought.
  void Lengthen(const Schedule& schedule, const Machine& machine,
                IdVector<CommandId, int64_t>* ns) const override;
  int64_t Without(const MeasuredLaunch& launch, const Machine& machine) const override;
  void HandOn(EffectSet* effects) const override;
};

}  // namespace lanescope::sims
