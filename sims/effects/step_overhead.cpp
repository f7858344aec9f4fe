// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/step_overhead.h"

#include <algorithm>

#include "sims/effects/cost_file.h"
#include "sims/effects/issue.h"
#include "sims/engine/simulation_model.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

void ReadStep(CostFileReader* file, EffectSet* effects) {
  StepOverhead step;
  step.start_ns = Nanoseconds(&file->At("gaps"), "step_start_ns");
  step.finish_ns = Nanoseconds(&file->At("gaps"), "step_finish_ns");
  effects->Put(step);
}

void WriteStep(const EffectSet& effects, CostFileWriter* file) {
  const auto step = effects.Get<StepOverhead>();
  file->file()["gaps"]["step_start_ns"] = step.start_ns;
  file->file()["gaps"]["step_finish_ns"] = step.finish_ns;
}

int64_t IssueNs(const StepStarts& starts, const EffectSet& effects, CommandId command) {
  if (!starts.IsStreamCommand(command)) return 0;
  const StreamIssueTimes times = effects.Get<Issue>().times;
  return starts.SegmentOf(command) >= 0 ? times.segment_ns : times.single_ns;
}

// First start less the step's start; the step's end less the last end. Means. Where the step begins with a
// stream, less what it takes to issue its first commands.
void FitStep(const StepStarts& starts, EffectSet* effects) {
  std::vector<double> before, after;
  for (const StepStarts::Step& step : starts.steps()) {
    const MeasuredStep& measured = *step.measured;
    if (measured.command_start_ns.empty()) continue;
    const int64_t first = *std::ranges::min_element(measured.command_start_ns);
    const int64_t last = *std::ranges::max_element(measured.command_end_ns);
    const CommandId first_command(std::ranges::min_element(measured.command_start_ns) -
                                  measured.command_start_ns.begin());
    before.push_back(
        static_cast<double>(first - measured.start_ns - IssueNs(starts, *effects, first_command)));
    after.push_back(static_cast<double>(measured.end_ns - last));
  }
  StepOverhead overhead;
  overhead.start_ns = MeanOf(before);
  overhead.finish_ns = MeanOf(after);
  effects->Put(overhead);
}

}  // namespace

constinit const EffectKind StepOverhead::kKind = {.name = "step",
                                                  .of = "host threads",
                                                  .about = "the step begins and ends",
                                                  .source = "the calibrated run",
                                                  .read = ReadStep,
                                                  .write = WriteStep,
                                                  .fit = FitStep};

void StepOverhead::AddTo(SimulationModel* model) const {
  model->delays.step_start_ns = start_ns;
  model->delays.step_finish_ns = finish_ns;
}

}  // namespace lanescope::sims
