// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/wake_up.h"

#include <algorithm>

#include "sims/effects/cost_file.h"
#include "sims/effects/hand_off.h"
#include "sims/effects/step_overhead.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/interference.h"
#include "sims/engine/simulation_model.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

constexpr std::array kSleepers = {QueueClass::kCompute, QueueClass::kCopy};

std::string WakeKey(QueueClass of) {
  return fmt::format("{}_wake_ns", kQueueClassNames[static_cast<size_t>(of)]);
}

void ReadWakeUps(CostFileReader* file, EffectSet* effects) {
  WakeUp wake;
  for (const DeviceKind kind : kDeviceKinds) {
    JsonObject* const device = file->Gaps(kind);
    for (const QueueClass of : kSleepers) {
      if (device != nullptr)
        wake.ns[static_cast<size_t>(kind)][static_cast<size_t>(of)] = Nanoseconds(device, WakeKey(of));
    }
  }
  effects->Put(wake);
}

void WriteWakeUps(const EffectSet& effects, CostFileWriter* file) {
  const auto wake = effects.Get<WakeUp>();
  for (const DeviceKind kind : kDeviceKinds) {
    for (const QueueClass of : kSleepers)
      file->Gaps(kind)[WakeKey(of)] = wake.ns[static_cast<size_t>(kind)][static_cast<size_t>(of)];
  }
}

// When a queue's driver was woken in a step, by the first of its commands that was ready, and when it was
// awake, as the first one that ran tells.
struct Woken {
  int64_t at = INT64_MAX, begin = INT64_MAX, usual = kEffectConstants.awake_ns;
};

IdVector<QueueId, Woken> WokenIn(const StepStarts& starts, const StepStarts::Step& step,
                                 const Delays& delays) {
  IdVector<QueueId, Woken> queues(starts.schedule().queues.size());
  for (const CommandStart& start : step.starts) {
    const Queue& queue = starts.QueueOf(start.command);
    Woken& woken = queues[starts.schedule().commands[start.command].queue];
    woken.begin = std::min(woken.begin, step.Begin(start.command));
    int64_t handoff = 0;
    if (start.released.exists() && &starts.QueueOf(start.released) != &queue)
      handoff = delays.handoff(starts.ClassOf(starts.QueueOf(start.released)), starts.ClassOf(queue));
    const int64_t at = step.Ready(start) + (start.released.exists() ? handoff : delays.step_start_ns);
    if (at >= woken.at) continue;
    woken.at = at;
    woken.usual =
        std::max<int64_t>(kEffectConstants.awake_ns, (kEffectConstants.awake_handoffs - 1) * handoff);
  }
  return queues;
}

// The median of what took longer than waking on a free core does (100 us, or a hand-off); zero where more
// drivers were awake sooner. The driver that most steps begin with wakes within the step's start: what that
// takes is not counted twice.
void FitWakeUps(const StepStarts& starts, EffectSet* effects) {
  const Delays delays = effects->Model().delays;
  std::vector<double> late[kNumDeviceKinds][kNumQueueClasses], in_time[kNumDeviceKinds][kNumQueueClasses];
  int first_on[kNumDeviceKinds][kNumQueueClasses] = {};  // steps whose first command ran there
  for (const StepStarts::Step& step : starts.steps()) {
    const auto& began = step.measured->command_start_ns;
    if (!began.empty()) {
      const Queue& queue = starts.QueueOf(CommandId(std::ranges::min_element(began) - began.begin()));
      ++first_on[static_cast<size_t>(starts.KindOf(queue))][static_cast<size_t>(starts.ClassOf(queue))];
    }
    const IdVector<QueueId, Woken> queues = WokenIn(starts, step, delays);
    for (const QueueId q : queues.ids()) {
      const Woken& woken = queues[q];
      const Queue& queue = starts.schedule().queues[q];
      if (woken.at == INT64_MAX || starts.ClassOf(queue) == QueueClass::kMessage) continue;
      const int64_t delay = woken.begin - woken.at;
      auto& samples = delay > woken.usual ? late : in_time;
      samples[static_cast<size_t>(starts.KindOf(queue))][static_cast<size_t>(starts.ClassOf(queue))]
          .push_back(static_cast<double>(delay));
    }
  }
  WakeUp wake;
  int most = 0;
  int64_t of_first = 0;
  for (size_t kind = 0; kind < kNumDeviceKinds; ++kind) {
    for (size_t of = 0; of < kNumThreadClasses; ++of) {
      if (late[kind][of].size() > in_time[kind][of].size()) wake.ns[kind][of] = MedianOf(late[kind][of]);
      if (first_on[kind][of] <= most) continue;
      most = first_on[kind][of];
      of_first = wake.ns[kind][of];
    }
  }
  auto step = effects->Get<StepOverhead>();
  step.start_ns = std::max<int64_t>(0, step.start_ns - of_first);
  effects->Put(step);
  effects->Put(wake);
}

}  // namespace

constinit const EffectKind WakeUp::kKind = {.name = "wake-up",
                                            .of = "host threads",
                                            .about = "a driver that slept since the last step wakes",
                                            .source = "the calibrated run",
                                            .read = ReadWakeUps,
                                            .write = WriteWakeUps,
                                            .fit = FitWakeUps};

void WakeUp::AddTo(SimulationModel* model) const { model->delays.wake_ns = ns; }

}  // namespace lanescope::sims
