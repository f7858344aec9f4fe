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
  if (file->file().Has("streams")) effects->Put(FrontEnd());
}
void WriteFrontEnd(const EffectSet& /*effects*/, CostFileWriter* /*file*/) {}

void FitFrontEnd(const StepStarts& starts, EffectSet* effects) {
  if (!starts.schedule().issue.empty()) effects->Put(FrontEnd());
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

}  // namespace

constinit const EffectKind FrontEnd::kKind = {
    .name = "front end",
    .of = "GPU streams",
    .about = "streams of several logical devices take turns at a GPU's front end",
    .source = "the calibrated run's gap, and how many looks of it recordings show",
    .between =
        [](EffectSet* effects) {
          FrontEnd front_end;
          front_end.in_durations = false;
          effects->Put(front_end);
        },
    .read = ReadFrontEnd,
    .write = WriteFrontEnd,
    .fit = FitFrontEnd};

void FrontEnd::AddTo(SimulationModel* model) const {
  FrontEndLooks& looks = model->front_end;
  looks.between = Part(kEffectConstants.looks_between);
  looks.handing_over = Part(kEffectConstants.looks_handing_over);
  if (!in_durations) return;
  looks.within = Part(kEffectConstants.looks_within);
}

double FrontEnd::Residual(const Schedule& schedule, const Machine& machine) const {
  return SharesAGpu(schedule, machine) ? Part(kEffectConstants.parts_residual) : 0;
}

IdVector<CommandId, int64_t> LookedNs(const StepStarts& starts, size_t step, const EffectSet& effects) {
  const StepStarts::Step& of = starts.steps()[step];
  IdVector<CommandId, int64_t> looked(starts.schedule().commands.size(), 0);
  const auto gaps = effects.Get<StreamGap>().ns[static_cast<size_t>(DeviceKind::kLogical)];
  const auto gap = static_cast<double>(gaps[static_cast<size_t>(QueueClass::kStream)]);
  for (const CommandStart& start : of.starts) {
    const bool goes_on = start.previous.exists() && of.Ready(start) <= of.End(start.previous);
    if (!start.crowded) continue;
    const int64_t ns = of.End(start.command) - of.Begin(start.command);
    const int times = static_cast<int>(goes_on) + static_cast<int>(start.beside_running);
    const double looks = times * Part(kEffectConstants.looks_within);
    looked[start.command] = std::min<int64_t>(ns / 2, std::llround(gap * looks));
  }
  return looked;
}

}  // namespace lanescope::sims
