// SPDX-License-Identifier: Apache-2.0
#include "sims/fit/fit_chain.h"

#include <utility>

#include "sims/effects/hand_off.h"
#include "sims/effects/queue_gaps.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

struct Chain {
  Dispatch dispatch;
  HandOff handoff;
};

Chain FitTo(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps) {
  steps = TypicalSteps(std::move(steps));
  const StepStarts starts(schedule, machine, steps);
  EffectSet gaps;
  Dispatch::kKind.fit(starts, &gaps);
  StreamGap::kKind.fit(starts, &gaps);
  return {gaps.Get<Dispatch>(), FitHandOffs(starts, gaps, MeanOf)};
}

}  // namespace

void FitChain(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps,
              EffectSet* effects) {
  const Chain chain = FitTo(schedule, machine, std::move(steps));
  chain.dispatch.HandOn(effects);
  auto handoff = effects->Get<HandOff>();
  handoff.ns = chain.handoff.ns;
  effects->Put(handoff);
}

void FitMessageChain(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps,
                     EffectSet* effects) {
  const Chain chain = FitTo(schedule, machine, std::move(steps));
  constexpr auto kMessages = static_cast<size_t>(QueueClass::kMessage);
  auto handoff = effects->Get<HandOff>();
  for (size_t other = 0; other < kNumThreadClasses; ++other) {
    handoff.ns[kMessages][other] = chain.handoff.ns[kMessages][other];
    handoff.ns[other][kMessages] = chain.handoff.ns[other][kMessages];
  }
  handoff.signal_ns = chain.handoff.signal_ns;
  effects->Put(handoff);
}

}  // namespace lanescope::sims
