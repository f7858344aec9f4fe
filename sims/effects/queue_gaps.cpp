// SPDX-License-Identifier: Apache-2.0
#include "sims/effects/queue_gaps.h"

#include <algorithm>
#include <cmath>

#include "core/base/statistics.h"
#include "sims/effects/cost_file.h"
#include "sims/engine/effect_constants.h"
#include "sims/engine/interference.h"
#include "sims/engine/simulation_model.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

constexpr auto kCompute = static_cast<size_t>(QueueClass::kCompute);
constexpr auto kCopies = static_cast<size_t>(QueueClass::kCopy);
constexpr auto kStreams = static_cast<size_t>(QueueClass::kStream);
constexpr auto kVirtual = static_cast<size_t>(DeviceKind::kVirtual);

constexpr bool HasStreams(DeviceKind kind) {
  return kind == DeviceKind::kCuda || kind == DeviceKind::kLogical;
}

// The share of a run's time in which several logical devices use a GPU's front end: where it was with the
// stream all the time.
constexpr double kInTime = 0.1;
constexpr double kLook = static_cast<double>(kEffectConstants.look.value) / 100;

template <typename Gaps>
constexpr bool IsOf(DeviceKind kind) {
  return IsOfHostThreads(kind) == std::is_same_v<Gaps, Dispatch>;
}

template <typename Gaps>
void ReadGaps(CostFileReader* file, EffectSet* effects) {
  Gaps gaps;
  for (const DeviceKind kind : kDeviceKinds) {
    JsonObject* const device = IsOf<Gaps>(kind) ? file->Gaps(kind) : nullptr;
    if (device == nullptr) continue;
    gaps.ns[static_cast<size_t>(kind)][kCompute] = Nanoseconds(device, "compute_gap_ns");
    gaps.ns[static_cast<size_t>(kind)][kCopies] = Nanoseconds(device, "copy_gap_ns");
    // Streams begin copies as they begin kernels.
    if (HasStreams(kind))
      gaps.ns[static_cast<size_t>(kind)][kStreams] = gaps.ns[static_cast<size_t>(kind)][kCompute];
  }
  effects->Put(gaps);
}

template <typename Gaps>
void WriteGaps(const EffectSet& effects, CostFileWriter* file) {
  const auto gaps = effects.Get<Gaps>();
  for (const DeviceKind kind : kDeviceKinds) {
    if (!IsOf<Gaps>(kind)) continue;
    const auto& of = gaps.ns[static_cast<size_t>(kind)];
    file->Gaps(kind)["compute_gap_ns"] = of[HasStreams(kind) ? kStreams : kCompute];
    file->Gaps(kind)["copy_gap_ns"] = of[HasStreams(kind) ? kStreams : kCopies];
  }
}

// Commands that were ready before the previous one of their queue ended.
template <typename Visit>
void ForEachGap(const StepStarts& starts, Visit visit) {
  for (const StepStarts::Step& step : starts.steps()) {
    for (const CommandStart& start : step.starts) {
      if (!start.previous.exists() || step.Ready(start) > step.End(start.previous)) continue;
      const Queue& queue = starts.QueueOf(start.command);
      const QueueClass of = starts.ClassOf(queue);
      // The others waited for the thread that issues them (Issue).
      if (of == QueueClass::kStream && !starts.IsRecordedWith(start.command, start.previous)) continue;
      if (of == QueueClass::kMessage) continue;  // several are under way at once
      const auto ns = static_cast<double>(step.Begin(start.command) - step.End(start.previous));
      visit(start, starts.KindOf(queue), of, ns);
    }
  }
}

// Start less the previous end, the mean, since sums of gaps are what makes a step. Of streams of those that
// began in time, less what a front end adds.
template <typename Gaps>
void FitGaps(const StepStarts& starts, EffectSet* effects) {
  std::vector<double> samples[kNumDeviceKinds][kNumQueueClasses];
  const double looks = kLook * static_cast<double>(LookNs(starts));
  ForEachGap(starts, [&](const CommandStart& start, DeviceKind kind, QueueClass of, double ns) {
    samples[static_cast<size_t>(kind)][static_cast<size_t>(of)].push_back(
        start.crowded ? std::max(0.0, ns - looks) : ns);
  });
  Gaps gaps;
  for (const DeviceKind kind : kDeviceKinds) {
    if (!IsOf<Gaps>(kind)) continue;
    for (size_t of = 0; of < kNumQueueClasses; ++of) {
      const std::vector<double>& found = samples[static_cast<size_t>(kind)][of];
      gaps.ns[static_cast<size_t>(kind)][of] = of == kStreams ? MeanInTime(found) : MeanOf(found);
    }
  }
  effects->Put(gaps);
}

template <typename Gaps>
void AddGaps(const Gaps& gaps, SimulationModel* model) {
  for (const DeviceKind kind : kDeviceKinds) {
    if (IsOf<Gaps>(kind))
      model->delays.gap_ns[static_cast<size_t>(kind)] = gaps.ns[static_cast<size_t>(kind)];
  }
}

}  // namespace

constinit const EffectKind Dispatch::kKind = {
    .name = "dispatch",
    .of = "host threads",
    .about = "a driver takes its next command",
    .source = "the calibrated run; between copies a chain of commands made for it",
    .read = ReadGaps<Dispatch>,
    .write = WriteGaps<Dispatch>,
    .fit = FitGaps<Dispatch>};
constinit const EffectKind StreamGap::kKind = {.name = "gap",
                                               .of = "GPU streams",
                                               .about = "a stream begins its next command",
                                               .source = "the calibrated run",
                                               .read = ReadGaps<StreamGap>,
                                               .write = WriteGaps<StreamGap>,
                                               .fit = FitGaps<StreamGap>};

void Dispatch::AddTo(SimulationModel* model) const { AddGaps(*this, model); }

void Dispatch::HandOn(EffectSet* effects) const {
  auto gaps = effects->Get<Dispatch>();
  gaps.ns[kVirtual][kCopies] = ns[kVirtual][kCopies];
  effects->Put(gaps);
}

void StreamGap::AddTo(SimulationModel* model) const { AddGaps(*this, model); }

int64_t LookNs(const StepStarts& starts) {
  std::vector<double> alone, crowded;
  ForEachGap(starts, [&](const CommandStart& start, DeviceKind, QueueClass of, double ns) {
    if (of == QueueClass::kStream) (start.crowded ? crowded : alone).push_back(ns);
  });
  if (alone.empty()) {
    for (const double ns : crowded) alone.push_back(ns / (1 + kLook));
  }
  return crowded.empty() ? MedianOf(alone) : std::max<int64_t>(0, std::llround(Quantile(alone, kInTime)));
}

}  // namespace lanescope::sims
