#include "sims/effects/issue.h"

#include "sims/effects/cost_file.h"
#include "sims/effects/fit_issue.h"
#include "sims/effects/queue_gaps.h"
#include "sims/steps/step_starts.h"

namespace lanescope::sims {
namespace {

void ReadIssue(CostFileReader* file, EffectSet* effects) {
  Issue issue;
  for (const DeviceKind kind : kDeviceKinds) {
    if (JsonObject* const device = file->Gaps(kind))
      issue.ns[static_cast<size_t>(kind)] = Nanoseconds(device, "issue_ns");
  }
  effects->Put(issue);
}

void WriteIssue(const EffectSet& effects, CostFileWriter* file) {
  const auto issue = effects.Get<Issue>();
  for (const DeviceKind kind : kDeviceKinds)
    file->Gaps(kind)["issue_ns"] = issue.ns[static_cast<size_t>(kind)];
}

// Together with the gap of the same streams.
void FitIssues(const StepStarts& starts, EffectSet* effects) {
  std::vector<IssueSample> samples[kNumDeviceKinds];
  for (const StepStarts::Step& step : starts.steps()) {
    const int64_t origin = step.measured->start_ns;
    QueueId queue;
    int number = 0;
    for (const CommandStart& start : step.starts) {
      const QueueId of = starts.schedule().commands[start.command].queue;
      number = of == queue ? number + 1 : 1;
      queue = of;
      const Queue& on = starts.QueueOf(start.command);
      if (!on.in_order || starts.ClassOf(on) != QueueClass::kCompute) continue;
      samples[static_cast<size_t>(starts.KindOf(on))].push_back(
          {.number = number,
           .start_ns = step.Begin(start.command) - origin,
           .previous_end_ns = start.previous.exists() ? step.End(start.previous) - origin : -1,
           .ready_ns = step.Ready(start) - origin});
    }
  }
  Issue issue;
  auto dispatch = effects->Get<Dispatch>();
  auto gaps = effects->Get<StreamGap>();
  for (const DeviceKind kind : kDeviceKinds) {
    const auto of = static_cast<size_t>(kind);
    if (samples[of].empty()) continue;
    const IssueFit fit = FitIssue(samples[of]);
    const bool threads = kind == DeviceKind::kHost || kind == DeviceKind::kVirtual;
    (threads ? dispatch.ns : gaps.ns)[of][static_cast<size_t>(QueueClass::kCompute)] = fit.gap_ns;
    issue.ns[of] = fit.issue_ns;
  }
  effects->Put(dispatch);
  effects->Put(gaps);
  effects->Put(issue);
}

}  // namespace

constinit const EffectKind Issue::kKind = {.name = "issue",
                                           .of = "GPU streams",
                                           .about = "the launching thread issues commands one by one",
                                           .source = "the calibrated run, fitted with the gap",
                                           .read = ReadIssue,
                                           .write = WriteIssue,
                                           .fit = FitIssues};

void Issue::AddTo(SimulationModel* model) const { model->delays.issue_ns = ns; }

}  // namespace lanescope::sims
