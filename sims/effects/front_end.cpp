// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/front_end.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sims/effects/queue_gaps.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/simulation_model.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

void ReadFrontEnd(CostFileReader* file, EffectSet* effects) {
  if (!file->file().Has("streams")) return;
  JsonObject& part = file->At("streams");
  FrontEnd front_end;
  if (part.Has("look_ns")) front_end.look_ns = Nanoseconds(&part, "look_ns");
  effects->Put(front_end);
}

void WriteFrontEnd(const EffectSet& effects, CostFileWriter* file) {
  const auto* front_end = effects.Find<FrontEnd>();
  if (front_end != nullptr && front_end->look_ns > 0) file->file()["streams"]["look_ns"] = front_end->look_ns;
}

void FitFrontEnd(const StepStarts& starts, EffectSet* effects) {
  if (starts.schedule().issue.empty()) return;
  FrontEnd front_end;
  front_end.look_ns = LookNs(starts);
  effects->Put(front_end);
}

// Whether two logical devices of one GPU launch anything.
bool SharesAGpu(const Schedule& schedule, const Machine& machine) {
  std::map<int, DeviceId> launches;  // by GPU: one of its devices that do
  for (const Command& command : schedule.commands) {
    if (command.kind != CommandKind::kLaunch) continue;
    const DeviceId device = schedule.queues[command.queue].device;
    if (machine.device(device).kind != DeviceKind::kLogical) continue;
    if (launches.try_emplace(machine.device(device).physical, device).first->second != device) return true;
  }
  return false;
}

constexpr double Part(const Constant& percent) { return static_cast<double>(percent.value) / 100; }
constexpr auto kOfLogical = static_cast<size_t>(DeviceKind::kLogical);
constexpr auto kOfStreams = static_cast<size_t>(QueueClass::kStream);

}  // namespace

constinit const EffectKind FrontEnd::kKind = {
    .name = "front end",
    .of = "GPU streams",
    .about = "streams of several logical devices take turns at a GPU's front end",
    .source = "the calibrated run's gap, and how many looks of it recordings show",
    .between =
        [](EffectSet* effects) {
          auto front_end = effects->Get<FrontEnd>();
          front_end.in_durations = false;
          effects->Put(front_end);
        },
    .read = ReadFrontEnd,
    .write = WriteFrontEnd,
    .fit = FitFrontEnd};

void FrontEnd::AddTo(SimulationModel* model) const {
  // The simulator counts in mean gaps.
  const int64_t gap_ns = model->delays.gap_ns[kOfLogical][kOfStreams];
  const double gaps =
      look_ns > 0 && gap_ns > 0 ? static_cast<double>(look_ns) / static_cast<double>(gap_ns) : 1;
  const double look = gaps * Part(kEffectConstants.look);
  model->front_end = {.between = look, .handing_over = look, .within = in_durations ? look : 0};
}

double FrontEnd::Residual(const Schedule& schedule, const Machine& machine) const {
  return SharesAGpu(schedule, machine) ? Part(kEffectConstants.parts_residual) : 0;
}

IdVector<CommandId, int64_t> LookedNs(const StepStarts& starts, size_t step, const EffectSet& effects) {
  const StepStarts::Step& of = starts.steps()[step];
  IdVector<CommandId, int64_t> looked(starts.schedule().commands.size(), 0);
  const auto look = static_cast<double>(effects.Get<FrontEnd>().look_ns);
  for (const CommandStart& start : of.starts) {
    const bool goes_on = start.previous.exists() && of.Ready(start) <= of.End(start.previous);
    if (!start.crowded) continue;
    const int64_t ns = of.End(start.command) - of.Begin(start.command);
    const int times = static_cast<int>(goes_on) + static_cast<int>(start.beside_running);
    const double looks = times * Part(kEffectConstants.look);
    looked[start.command] = std::min<int64_t>(ns / 2, std::llround(look * looks));
  }
  return looked;
}

}  // namespace lanescope::sims
