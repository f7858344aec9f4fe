// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/stream_handoff.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/statistics.h"
#include "sims/effects/cost_file.h"
#include "sims/effects/queue_gaps.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/simulation_model.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

constexpr auto kOfStreams = static_cast<size_t>(QueueClass::kStream);

void ReadStreamHandOff(CostFileReader* file, EffectSet* effects) {
  if (!file->file().Has("streams")) return;
  JsonObject& part = file->At("streams");
  StreamHandOff handoff;
  handoff.between_ns = Nanoseconds(&part, "between_ns");
  handoff.to_host_ns = Nanoseconds(&part, "to_host_ns");
  effects->Put(handoff);
}

void WriteStreamHandOff(const EffectSet& effects, CostFileWriter* file) {
  const auto* handoff = effects.Find<StreamHandOff>();
  if (handoff == nullptr) return;
  nlohmann::json& part = file->file()["streams"];
  part["between_ns"] = handoff->between_ns;
  part["to_host_ns"] = handoff->to_host_ns;
}

// Over commands that waited for nothing else; of the host the median. Between streams the mean of those that
// were recorded together and began in time, less what a front end adds. Where a step has none, as long as a
// stream takes to begin its own next command.
void FitStreamHandOff(const StepStarts& starts, EffectSet* effects) {
  if (starts.schedule().issue.empty()) return;
  const double look = static_cast<double>(kEffectConstants.look * LookNs(starts)) / 100;
  std::vector<double> between, to_host;
  double crowded = 0;
  for (const StepStarts::Step& step : starts.steps()) {
    for (const CommandStart& start : step.starts) {
      if (!start.released.exists() || !starts.IsStreamCommand(start.released)) continue;
      if (start.previous.exists() && step.End(start.previous) > step.Ready(start)) continue;
      const bool on_stream = starts.IsStreamCommand(start.command);
      if (on_stream &&
          (starts.SegmentOf(start.command) < 0 || !starts.IsRecordedWith(start.command, start.released)))
        continue;
      const auto passed = static_cast<double>(step.Begin(start.command) - step.Ready(start));
      if (passed < 0) continue;
      (on_stream ? between : to_host).push_back(passed);
      crowded += on_stream && start.crowded;
    }
  }
  StreamHandOff handoff;
  if (!between.empty()) {
    const double looks = look * crowded / static_cast<double>(between.size());
    handoff.between_ns = std::max<int64_t>(0, MeanInTime(between) - std::llround(looks));
  } else {
    for (const auto& of_kind : effects->Get<StreamGap>().ns)
      handoff.between_ns = std::max(handoff.between_ns, of_kind[kOfStreams]);
  }
  handoff.to_host_ns = MedianOf(to_host);
  effects->Put(handoff);
}

}  // namespace

constinit const EffectKind StreamHandOff::kKind = {
    .name = "stream hand-off",
    .of = "GPU streams",
    .about = "another stream, or the host, goes on when one is through",
    .source = "the calibrated run",
    .read = ReadStreamHandOff,
    .write = WriteStreamHandOff,
    .fit = FitStreamHandOff};

void StreamHandOff::AddTo(SimulationModel* model) const {
  auto& handoff = model->delays.handoff_ns;
  handoff[kOfStreams][kOfStreams] = between_ns;
  for (size_t of_host = 0; of_host < kNumThreadClasses; ++of_host) handoff[kOfStreams][of_host] = to_host_ns;
}

}  // namespace lanescope::sims
