// SPDX-License-Identifier: Apache-2.0
// The contribution of recorded steps to a cost table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/signature.h"
#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/schedule/schedule.h"
#include "sims/cost/input_costs.h"
#include "sims/fit/calibrate.h"

namespace lanescope::sims {

struct CalibrationInput {
  std::vector<OpSample> ops;
  std::vector<CopySample> copies;
  EffectSet effects;  // as far as steps tell them
  double common_spread = 0;
  InputCosts input;  // of the threads that filled the run's queues, if any did
};

// Samples of every launch and copy in the middle half, by length, of the complete steps from `warmup_steps`
// on, and the effects fitted to them: their mean is a step like the median one. `work`: by command; launches
// of unknown work are no samples. Throws what GroupSteps throws.
CalibrationInput SamplesOf(const Schedule& schedule, const IdVector<CommandId, SignedWork>& work,
                           std::span<const Event> events, const Machine& machine, int warmup_steps = 0);

// Adds the samples of other steps; the effects stay.
void AddSamples(const CalibrationInput& from, CalibrationInput* to);

// `measured`: effects that microbenchmarks have measured. The table has them in place of what steps tell;
// what they make launches longer by is taken out of the samples first.
CostTable FitCosts(const CalibrationInput& input, const EffectSet& measured, const Machine& machine,
                   const std::string& calibrated_on);

}  // namespace lanescope::sims
