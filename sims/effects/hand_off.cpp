// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/hand_off.h"

#include <algorithm>

#include "sims/effects/cost_file.h"
#include "sims/engine/interference.h"
#include "sims/engine/simulation_model.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

constexpr auto kMessage = static_cast<size_t>(QueueClass::kMessage);

bool IsOfMessage(size_t from, size_t to) { return std::max(from, to) == kMessage; }

std::string HandOffKey(size_t from, size_t to) {
  return fmt::format("{}_to_{}", kQueueClassNames[from], kQueueClassNames[to]);
}

void ReadHandOffs(CostFileReader* file, EffectSet* effects) {
  JsonObject& part = file->At("gaps.handoff_ns");
  HandOff handoff;
  for (size_t from = 0; from < kNumThreadClasses; ++from) {
    for (size_t to = 0; to < kNumThreadClasses; ++to)
      handoff.ns[from][to] = Nanoseconds(&part, HandOffKey(from, to));
  }
  handoff.signal_ns = Nanoseconds(&part, "signal");
  effects->Put(handoff);
}

void WriteHandOffs(const EffectSet& effects, CostFileWriter* file) {
  const auto handoff = effects.Get<HandOff>();
  nlohmann::json& part = file->file()["gaps"]["handoff_ns"];
  for (size_t from = 0; from < kNumThreadClasses; ++from) {
    for (size_t to = 0; to < kNumThreadClasses; ++to) part[HandOffKey(from, to)] = handoff.ns[from][to];
  }
  part["signal"] = handoff.signal_ns;
}

// The median: what is above it waits for a core.
void FitHandOff(const StepStarts& starts, EffectSet* effects) {
  effects->Put(FitHandOffs(starts, *effects, MedianOf));
}

}  // namespace

constinit const EffectKind HandOff::kKind = {
    .name = "hand-off",
    .of = "host threads",
    .about = "a driver notices what it waited for",
    .source = "a chain of commands made for it, else the calibrated run",
    .read = ReadHandOffs,
    .write = WriteHandOffs,
    .fit = FitHandOff};

void HandOff::AddTo(SimulationModel* model) const {
  model->delays.handoff_ns = ns;
  model->delays.signal_ns = signal_ns;
}

void HandOff::HandOn(EffectSet* effects) const { effects->Put(*this); }

HandOff FitHandOffs(const StepStarts& starts, const EffectSet& effects,
                    int64_t (*average)(const std::vector<double>& samples)) {
  const Delays delays = effects.Model().delays;
  std::vector<double> samples[kNumThreadClasses][kNumThreadClasses], signals;
  for (const StepStarts::Step& step : starts.steps()) {
    for (const CommandStart& start : step.starts) {
      if (!start.released.exists() || !start.previous.exists()) continue;
      const Queue& from = starts.QueueOf(start.released);
      const Queue& to = starts.QueueOf(start.command);
      const bool is_signal = starts.IsSignal(start.released, start.command);
      if (&from == &to && !is_signal) continue;
      if (std::max(starts.ClassOf(from), starts.ClassOf(to)) >= QueueClass::kStream) continue;
      const int64_t ready = step.Ready(start);
      if (ready < step.End(start.previous) + delays.gap(starts.KindOf(to), starts.ClassOf(to))) continue;
      std::vector<double>& of =
          is_signal
              ? signals
              : samples[static_cast<size_t>(starts.ClassOf(from))][static_cast<size_t>(starts.ClassOf(to))];
      of.push_back(static_cast<double>(step.Begin(start.command) - ready));
    }
  }
  HandOff handoff;
  handoff.signal_ns = average(signals);
  int64_t sum[2] = {}, pairs[2] = {};  // of copies; of messages
  for (size_t from = 0; from < kNumThreadClasses; ++from) {
    for (size_t to = 0; to < kNumThreadClasses; ++to) {
      handoff.ns[from][to] = average(samples[from][to]);
      if (samples[from][to].empty()) continue;
      sum[IsOfMessage(from, to)] += handoff.ns[from][to];
      ++pairs[IsOfMessage(from, to)];
    }
  }
  for (size_t from = 0; from < kNumThreadClasses; ++from) {
    for (size_t to = 0; to < kNumThreadClasses; ++to) {
      const bool of_message = IsOfMessage(from, to);
      if (!samples[from][to].empty()) continue;
      if (pairs[of_message] > 0) {
        handoff.ns[from][to] = sum[of_message] / pairs[of_message];
      } else if (of_message) {
        handoff.ns[from][to] = handoff.ns[std::min<size_t>(from, 1)][std::min<size_t>(to, 1)];
      }
    }
  }
  return handoff;
}

}  // namespace lanescope::sims
