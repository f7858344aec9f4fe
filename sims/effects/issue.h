// SPDX-License-Identifier: Apache-2.0
// The thread that issues a GPU's streams: one unit after the other, ahead of time.
#pragma once

#include "sims/effects/effect.h"
#include "sims/engine/delays.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {

// The host's time for a launch or a copy by itself, for a recorded segment, and to bring what the caller
// feeds to where the device can read it. That it is there at all orders a step: a segment waits for all that
// any of its commands needs of the host, for what was issued before it, and everything after it waits for its
// end (IssuedSchedule).
struct Issue final : Effect {
  static const EffectKind kKind;
  StreamIssueTimes times = {};

  void AddTo(SimulationModel* model) const override { model->issue = times; }
};

}  // namespace lanescope::sims
