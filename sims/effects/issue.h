// The thread that launches commands of a GPU's stream, one after the other, ahead of time.
#pragma once

#include <array>
#include <cstdint>

#include "sims/effects/effect.h"

namespace lanescope::sims {

// The k-th command of an in-order queue, from 1, does not start before k times this after the step's
// beginning.
struct Issue final : Effect {
  static const EffectKind kKind;
  std::array<int64_t, kNumDeviceKinds> ns{};  // by DeviceKind

  void AddTo(SimulationModel* model) const override;
};

}  // namespace lanescope::sims
