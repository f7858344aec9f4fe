// SPDX-License-Identifier: Apache-2.0
// Inputs that another core has just written are fetched from its cache.
#pragma once

#include "sims/effects/cache_transfer_cost.h"
#include "sims/effects/effect.h"

namespace lanescope::sims {

struct CacheTransfers final : Effect {
  static const EffectKind kKind;
  CacheTransferCurve curve;

  // Launches that read first what a copy brought.
  void Lengthen(const Schedule& schedule, const Machine& machine,
                IdVector<CommandId, int64_t>* ns) const override;
  int64_t Without(const MeasuredLaunch& launch, const Machine& machine) const override;
  void HandOn(EffectSet* effects) const override;
};

}  // namespace lanescope::sims
