// SPDX-License-Identifier: Apache-2.0
// Effects from steps that were made for them, in which one command runs at a time.
#pragma once

#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/effects/effect.h"
#include "sims/steps/measured_steps.h"

namespace lanescope::sims {

// Nothing waits for a core there: hand-offs, and gaps between copies of devices that are made of threads.
// Means over typical steps, for they have two lengths: a core that had nothing to do is awake still, or
// sleeps; and a chain is a sum of hand-offs, of which each counts.
void FitChain(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps,
              EffectSet* effects);
// Fits steps of several tasks, which processes run: hand-offs to and from messages, and signals.
void FitMessageChain(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps,
                     EffectSet* effects);

}  // namespace lanescope::sims
