// SPDX-License-Identifier: Apache-2.0
// Streams of several logical devices of one GPU take turns at its front end, which takes commands and time
// stamps one after the other.
#pragma once

#include "sims/effects/effect.h"

namespace lanescope::sims {

// While the compute streams of two logical devices or more have work, the front end looks at the others
// between any two things that it does for one. A look takes as long as a stream's gap, and so passes more
// time between its commands, and between the time stamps around each.
struct FrontEnd final : Effect {
  static const EffectKind kKind;
  bool in_durations = true;  // of commands; else between them alone
  int64_t look_ns = 0;       // 0: as long as a stream's mean gap

  void AddTo(SimulationModel* model) const override;
  // 0 for schedules without launches on two logical devices of one GPU.
  double Residual(const Schedule& schedule, const Machine& machine) const override;
};

// How much longer the commands of a measured step took for that, in ns: none of them has more than half its
// time of it. Effects of these steps.
IdVector<CommandId, int64_t> LookedNs(const StepStarts& starts, size_t step, const EffectSet& effects);

}  // namespace lanescope::sims
