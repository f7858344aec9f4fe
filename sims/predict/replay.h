// SPDX-License-Identifier: Apache-2.0
// The identity gate: a measured run simulated under its own schedule with its own durations must take the
// time that it took. What is off then is off in the effects or in the order, not in the costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/effects/effect.h"
#include "sims/engine/simulator.h"
#include "sims/steps/measured_steps.h"

namespace lanescope::sims {

struct ReplayReport {
  std::vector<int64_t> measured_ns;  // by step
  std::vector<int64_t> replayed_ns;
  // Median over the steps of (replayed - measured) / measured; 0 without steps.
  double error = 0;
};

// The durations of the commands of one measured step.
CommandCosts MeasuredCosts(const MeasuredStep& step);

// Replays every step: durations measured, what is between commands modelled. Effects that measured durations
// contain are left out.
ReplayReport ReplaySteps(const Schedule& schedule, const Machine& machine,
                         std::span<const MeasuredStep> steps, const EffectSet& effects);

}  // namespace lanescope::sims
