#include "sims/effects/front_end.h"

#include <algorithm>
#include <cmath>

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

constexpr double Looks(const Constant& percent) { return static_cast<double>(percent.value) / 100; }

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
  looks.between = Looks(kEffectConstants.looks_between);
  looks.handing_over = Looks(kEffectConstants.looks_handing_over);
  if (!in_durations) return;
  looks.beside_waiting = Looks(kEffectConstants.looks_beside_waiting);
  looks.beside_running = Looks(kEffectConstants.looks_beside_running);
}

IdVector<CommandId, int64_t> LookedNs(const StepStarts& starts, size_t step, const EffectSet& effects) {
  const StepStarts::Step& of = starts.steps()[step];
  IdVector<CommandId, int64_t> looked(starts.schedule().commands.size(), 0);
  const auto gaps = effects.Get<StreamGap>().ns[static_cast<size_t>(DeviceKind::kLogical)];
  const auto gap = static_cast<double>(gaps[static_cast<size_t>(QueueClass::kStream)]);
  for (const CommandStart& start : of.starts) {
    const bool goes_on = start.previous.exists() && of.Ready(start) <= of.End(start.previous);
    if (!start.crowded || !goes_on) continue;
    const int64_t ns = of.End(start.command) - of.Begin(start.command);
    const double looks = Looks(start.beside_running ? kEffectConstants.looks_beside_running
                                                    : kEffectConstants.looks_beside_waiting);
    looked[start.command] = std::min<int64_t>(ns / 2, std::llround(gap * looks));
  }
  return looked;
}

}  // namespace lanescope::sims
