// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "sims/effects/cache_transfers.h"
#include "sims/effects/copy_cores.h"
#include "sims/effects/cores.h"
#include "sims/effects/effect.h"
#include "sims/effects/front_end.h"
#include "sims/effects/hand_off.h"
#include "sims/effects/issue.h"
#include "sims/effects/link_sharing.h"
#include "sims/effects/progress_threads.h"
#include "sims/effects/queue_gaps.h"
#include "sims/effects/run_queue_delay.h"
#include "sims/effects/shared_gpu.h"
#include "sims/effects/step_overhead.h"
#include "sims/effects/stream_handoff.h"
#include "sims/effects/wake_up.h"
#include "sims/engine/simulation_model.h"

namespace lanescope::sims {

std::span<const EffectKind* const> AllEffects() {
  static constexpr std::array kAll = {
      &Cores::kKind,           &CopyCores::kKind,      &RunQueueDelay::kKind, &SharedGpu::kKind,
      &LinkSharing::kKind,     &Dispatch::kKind,       &StreamGap::kKind,     &Issue::kKind,
      &StepOverhead::kKind,    &HandOff::kKind,        &StreamHandOff::kKind, &WakeUp::kKind,
      &ProgressThreads::kKind, &CacheTransfers::kKind, &FrontEnd::kKind,
  };
  return kAll;
}

EffectSet EffectSet::BetweenCommands() const {
  EffectSet between = *this;
  for (const EffectKind* kind : AllEffects()) {
    if (kind->in_durations) between.Remove(*kind);
    if (kind->between != nullptr && effects_.contains(kind)) kind->between(&between);
  }
  return between;
}

SimulationModel EffectSet::Model() const {
  SimulationModel model;
  for (const EffectKind* kind : AllEffects()) {
    if (const auto found = effects_.find(kind); found != effects_.end()) found->second->AddTo(&model);
  }
  return model;
}

void EffectSet::Lengthen(const Schedule& schedule, const Machine& machine,
                         IdVector<CommandId, int64_t>* ns) const {
  for (const auto& [kind, effect] : effects_) effect->Lengthen(schedule, machine, ns);
}

int64_t EffectSet::Without(MeasuredLaunch launch, const Machine& machine) const {
  const auto all = AllEffects();
  for (auto kind = all.rbegin(); kind != all.rend(); ++kind) {
    if (const auto found = effects_.find(*kind); found != effects_.end())
      launch.ns = found->second->Without(launch, machine);
  }
  return launch.ns;
}

double EffectSet::Residual(const Schedule& schedule, const Machine& machine) const {
  double largest = 0;
  for (const auto& [kind, effect] : effects_)
    largest = std::max(largest, effect->Residual(schedule, machine));
  return largest;
}

void EffectSet::HandOn(EffectSet* effects) const {
  for (const auto& [kind, effect] : effects_) effect->HandOn(effects);
}

EffectSet UnmeasuredEffects() {
  EffectSet effects;
  effects.Put(LinkSharing());
  return effects;
}

EffectSet EffectsOf(const MachineFigures& figures) {
  EffectSet effects;
  for (const EffectKind* kind : AllEffects()) {
    if (kind->take != nullptr) kind->take(figures, &effects);
  }
  return effects;
}

EffectSet FitEffects(const StepStarts& starts) {
  EffectSet effects = UnmeasuredEffects();
  for (const EffectKind* kind : AllEffects()) {
    if (kind->fit != nullptr) kind->fit(starts, &effects);
  }
  return effects;
}

}  // namespace lanescope::sims
