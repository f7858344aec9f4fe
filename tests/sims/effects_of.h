// SPDX-License-Identifier: Apache-2.0
// Models of a simulation and contents of a cost table, made of the simulator's numbers, for tests.
#pragma once

#include "sims/effects/copy_cores.h"
#include "sims/effects/cores.h"
#include "sims/effects/effect.h"
#include "sims/effects/hand_off.h"
#include "sims/effects/progress_threads.h"
#include "sims/effects/queue_gaps.h"
#include "sims/effects/run_queue_delay.h"
#include "sims/effects/shared_gpu.h"
#include "sims/effects/step_overhead.h"
#include "sims/effects/wake_up.h"
#include "sims/engine/interference.h"
#include "sims/engine/simulation_model.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {

// Copies share links, these delays, and devices slow each other down where `interference` is not null.
inline SimulationModel ModelOf(const Delays& delays = {}, const Interference* interference = nullptr) {
  SimulationModel model{.delays = delays, .interference = {}, .share_links = true};
  if (interference != nullptr) model.interference = *interference;
  return model;
}

// Effects whose model that is.
inline EffectSet EffectsOf(const Delays& delays, const Interference* interference = nullptr) {
  EffectSet effects = UnmeasuredEffects();
  const auto with = [&]<typename E>(E effect, const auto& fill) {
    fill(&effect);
    effects.Put(effect);
  };
  with(StepOverhead(), [&](StepOverhead* step) {
    step->start_ns = delays.step_start_ns;
    step->finish_ns = delays.step_finish_ns;
  });
  with(Dispatch(), [&](Dispatch* gaps) { gaps->ns = delays.gap_ns; });
  with(StreamGap(), [&](StreamGap* gaps) { gaps->ns = delays.gap_ns; });
  with(WakeUp(), [&](WakeUp* wake) { wake->ns = delays.wake_ns; });
  with(HandOff(), [&](HandOff* handoff) {
    handoff->ns = delays.handoff_ns;
    handoff->signal_ns = delays.signal_ns;
  });
  with(ProgressThreads(), [&](ProgressThreads* progress_threads) {
    progress_threads->overhead_ns = delays.message_overhead_ns;
    progress_threads->byte_ns = delays.message_byte_ns;
  });
  if (interference == nullptr) return effects;
  with(Cores(), [&](Cores* cores) {
    cores->cores = interference->host.cores;
    cores->others = interference->other_computers;
  });
  with(CopyCores(), [&](CopyCores* copies) { copies->cores = interference->host.copy_cores; });
  with(RunQueueDelay(), [&](RunQueueDelay* wait) { wait->slice_ns = interference->host.slice_ns; });
  with(SharedGpu(), [&](SharedGpu* gpu) { gpu->slowdown = interference->gpu.slowdown; });
  return effects;
}

inline Delays DelaysOf(const EffectSet& effects) { return effects.Model().delays; }
// Effects must have some.
inline Interference InterferenceOf(const EffectSet& effects) { return effects.Model().interference.value(); }

// Delays as steps tell of them.
inline Delays FittedDelays(const Schedule& schedule, const Machine& machine,
                           const std::vector<MeasuredStep>& steps) {
  return DelaysOf(FitEffects(StepStarts(schedule, machine, steps)));
}

}  // namespace lanescope::sims
