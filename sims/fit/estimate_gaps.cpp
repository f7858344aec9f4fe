#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/statistics.h"
#include "core/machine/tasks.h"
#include "core/schedule/task_share.h"
#include "sims/cost/effect_constants.h"
#include "sims/fit/calibrate.h"
#include "sims/fit/fit_issue.h"

namespace lanescope::sims {
namespace {

using Samples = std::vector<double>;

// Of times; 0 of none.
int64_t MeanNs(const Samples& samples) {
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return samples.empty() ? 0 : std::max<int64_t>(0, std::llround(sum / static_cast<double>(samples.size())));
}
int64_t MedianNs(const Samples& samples) {
  return samples.empty() ? 0 : std::max<int64_t>(0, std::llround(Median(samples)));
}

// A command, the one of its queue that had ended last when it began, and the dependency that ended last.
struct Start {
  CommandId command;
  CommandId previous;
  CommandId released;
};

class GapSampler {
 public:
  GapSampler(const Schedule& schedule, const Machine& machine)
      : schedule_(schedule),
        machine_(machine),
        tasks_(TasksOf(machine)),
        predecessors_(PredecessorsOf(schedule)) {}

  void AddGaps(const MeasuredStep& step) {
    for (const Start& start : StartsOf(step)) {
      if (!start.previous.exists() || Ready(step, start) > End(step, start.previous)) continue;
      const Queue& queue = QueueOf(start.command);
      if (ClassOf(queue) == QueueClass::kMessage) continue;  // several are under way at once
      if (queue.in_order && ClassOf(queue) == QueueClass::kCompute) continue;
      gaps_[static_cast<size_t>(machine_.device(queue.device).kind)][static_cast<size_t>(ClassOf(queue))]
          .push_back(static_cast<double>(Begin(step, start.command) - End(step, start.previous)));
    }
  }

  // After FinishGaps: needs to know how long a queue is busy with its gap.
  void AddHandoffs(const MeasuredStep& step, const GapModel& gaps) {
    for (const Start& start : StartsOf(step)) {
      if (!start.released.exists() || !start.previous.exists()) continue;
      const Queue& from = QueueOf(start.released);
      const Queue& to = QueueOf(start.command);
      const bool signals = IsSignal(start.released, start.command);
      if (&from == &to && !signals) continue;
      const int64_t ready = Ready(step, start);
      const int64_t gap = gaps.gap(machine_.device(to.device).kind, ClassOf(to));
      if (ready < End(step, start.previous) + gap) continue;
      Samples& samples =
          signals ? signals_
                  : handoffs_[static_cast<size_t>(ClassOf(from))][static_cast<size_t>(ClassOf(to))];
      samples.push_back(static_cast<double>(Begin(step, start.command) - ready));
    }
  }

  void AddIssues(const MeasuredStep& step) {
    std::vector<Start> starts = StartsOf(step);
    QueueId queue;
    int number = 0;
    for (const Start& start : starts) {
      const Command& command = schedule_.commands[start.command];
      number = command.queue == queue ? number + 1 : 1;
      queue = command.queue;
      const Queue& on = QueueOf(start.command);
      if (!on.in_order || ClassOf(on) != QueueClass::kCompute) continue;
      issues_[static_cast<size_t>(machine_.device(on.device).kind)].push_back(
          {.number = number,
           .start_ns = Begin(step, start.command) - step.start_ns,
           .previous_end_ns = !start.previous.exists() ? -1 : End(step, start.previous) - step.start_ns,
           .ready_ns = Ready(step, start) - step.start_ns});
    }
  }

  // After FinishHandoffs and FinishStep. A queue's driver is woken by the first of its commands that is
  // ready, and the first command that runs tells when it was awake.
  void AddWakes(const MeasuredStep& step, const GapModel& gaps) {
    struct Woken {
      int64_t at = INT64_MAX, begin = INT64_MAX, usual = kEffectConstants.awake_ns;
    };
    IdVector<QueueId, Woken> queues(schedule_.queues.size());
    for (const Start& start : StartsOf(step)) {
      const Command& command = schedule_.commands[start.command];
      Woken& woken = queues[command.queue];
      woken.begin = std::min(woken.begin, Begin(step, start.command));
      int64_t handoff = 0;
      if (start.released.exists() && &QueueOf(start.released) != &QueueOf(start.command))
        handoff = gaps.handoff(ClassOf(QueueOf(start.released)), ClassOf(QueueOf(start.command)));
      const int64_t at = Ready(step, start) + (!start.released.exists() ? gaps.step_start_ns : handoff);
      if (at >= woken.at) continue;
      woken.at = at;
      woken.usual =
          std::max<int64_t>(kEffectConstants.awake_ns, (kEffectConstants.awake_handoffs - 1) * handoff);
    }
    for (const QueueId q : queues.ids()) {
      const Woken& woken = queues[q];
      if (woken.at == INT64_MAX) continue;
      const Queue& queue = schedule_.queues[q];
      if (ClassOf(queue) == QueueClass::kMessage) continue;
      const int64_t delay = woken.begin - woken.at;
      auto& samples = delay > woken.usual ? late_ : in_time_;
      samples[static_cast<size_t>(machine_.device(queue.device).kind)][static_cast<size_t>(ClassOf(queue))]
          .push_back(static_cast<double>(delay));
    }
  }

  void AddStep(const MeasuredStep& step) {
    if (step.command_start_ns.empty()) return;
    const auto first = std::min_element(step.command_start_ns.begin(), step.command_start_ns.end());
    const auto last = std::max_element(step.command_end_ns.begin(), step.command_end_ns.end());
    step_start_.push_back(static_cast<double>(*first - step.start_ns));
    const Queue& queue = QueueOf(CommandId(first - step.command_start_ns.begin()));
    ++first_on_[static_cast<size_t>(machine_.device(queue.device).kind)][static_cast<size_t>(ClassOf(queue))];
    step_finish_.push_back(static_cast<double>(step.end_ns - *last));
  }

  void FinishGaps(GapModel* gaps) const {
    for (size_t kind = 0; kind < kNumDeviceKinds; ++kind) {
      for (size_t queue_class = 0; queue_class < kNumQueueClasses; ++queue_class) {
        gaps->gap_ns[kind][queue_class] = MeanNs(gaps_[kind][queue_class]);
      }
    }
  }
  // `average`: MeanNs or MedianNs. A kind without samples takes the mean of the others, messages of theirs,
  // else what copies have.
  void FinishHandoffs(int64_t (*average)(const Samples&), GapModel* gaps) const {
    gaps->signal_ns = average(signals_);
    int64_t sum[2] = {}, kinds[2] = {};  // of copies; of messages
    for (size_t from = 0; from < kNumQueueClasses; ++from) {
      for (size_t to = 0; to < kNumQueueClasses; ++to) {
        gaps->handoff_ns[from][to] = average(handoffs_[from][to]);
        if (handoffs_[from][to].empty()) continue;
        sum[OfMessage(from, to)] += gaps->handoff_ns[from][to];
        ++kinds[OfMessage(from, to)];
      }
    }
    for (size_t from = 0; from < kNumQueueClasses; ++from) {
      for (size_t to = 0; to < kNumQueueClasses; ++to) {
        const bool of_message = OfMessage(from, to);
        if (!handoffs_[from][to].empty()) continue;
        if (kinds[of_message] > 0) {
          gaps->handoff_ns[from][to] = sum[of_message] / kinds[of_message];
        } else if (of_message) {
          gaps->handoff_ns[from][to] = gaps->handoff_ns[std::min<size_t>(from, 1)][std::min<size_t>(to, 1)];
        }
      }
    }
  }
  void FinishIssues(GapModel* gaps) const {
    for (size_t kind = 0; kind < kNumDeviceKinds; ++kind) {
      if (issues_[kind].empty()) continue;
      const IssueFit fit = FitIssue(issues_[kind]);
      gaps->gap_ns[kind][static_cast<size_t>(QueueClass::kCompute)] = fit.gap_ns;
      gaps->issue_ns[kind] = fit.issue_ns;
    }
  }
  void FinishStep(GapModel* gaps) const {
    gaps->step_start_ns = MeanNs(step_start_);
    gaps->step_finish_ns = MeanNs(step_finish_);
  }
  // The driver that most steps begin with wakes within `step_start`: what its wake-up takes is not counted
  // twice.
  void FinishWakes(GapModel* gaps) const {
    int most = 0;
    int64_t of_first = 0;
    for (size_t kind = 0; kind < kNumDeviceKinds; ++kind) {
      for (size_t queue_class = 0; queue_class < kNumQueueClasses; ++queue_class) {
        const Samples& late = late_[kind][queue_class];
        if (late.size() > in_time_[kind][queue_class].size())
          gaps->wake_ns[kind][queue_class] = MedianNs(late);
        if (first_on_[kind][queue_class] <= most) continue;
        most = first_on_[kind][queue_class];
        of_first = gaps->wake_ns[kind][queue_class];
      }
    }
    gaps->step_start_ns = std::max<int64_t>(0, gaps->step_start_ns - of_first);
  }

 private:
  static bool OfMessage(size_t from, size_t to) {
    return std::max(from, to) == static_cast<size_t>(QueueClass::kMessage);
  }
  QueueClass ClassOf(const Queue& queue) const {
    return QueueClassOf(queue.kind, machine_.device(queue.device));
  }
  bool IsSignal(CommandId before, CommandId after) const {
    return NeedsSignal(EndsOf(schedule_, tasks_, before), EndsOf(schedule_, tasks_, after));
  }
  static int64_t Begin(const MeasuredStep& step, CommandId command) { return step.command_start_ns[command]; }
  static int64_t End(const MeasuredStep& step, CommandId command) { return step.command_end_ns[command]; }
  const Queue& QueueOf(CommandId command) const {
    return schedule_.queues[schedule_.commands[command].queue];
  }
  static int64_t Ready(const MeasuredStep& step, const Start& start) {
    return !start.released.exists() ? step.start_ns : End(step, start.released);
  }

  std::vector<Start> StartsOf(const MeasuredStep& step) const {
    IdVector<QueueId, std::vector<CommandId>> ran(schedule_.queues.size());
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      if (!command.is_work()) continue;
      ran[command.queue].push_back(c);
    }
    std::vector<Start> starts;
    for (std::vector<CommandId>& commands : ran) {
      std::stable_sort(commands.begin(), commands.end(),
                       [&](CommandId a, CommandId b) { return Begin(step, a) < Begin(step, b); });
      // What runs beside it on other workers of the queue holds nothing up.
      std::vector<CommandId> by_end = commands;
      std::stable_sort(by_end.begin(), by_end.end(),
                       [&](CommandId a, CommandId b) { return End(step, a) < End(step, b); });
      size_t ended = 0;
      for (const CommandId command : commands) {
        while (ended < by_end.size() && by_end[ended] != command &&
               End(step, by_end[ended]) <= Begin(step, command))
          ++ended;
        const CommandId previous = ended > 0 ? by_end[ended - 1] : CommandId();
        Start start{command, previous, CommandId()};
        for (const CommandId p : predecessors_[command]) {
          if (!start.released.exists() || End(step, p) > End(step, start.released)) start.released = p;
        }
        starts.push_back(start);
      }
    }
    return starts;
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const MachineTasks tasks_;
  const Rows<CommandId, CommandId> predecessors_;
  Samples gaps_[kNumDeviceKinds][kNumQueueClasses];
  Samples handoffs_[kNumQueueClasses][kNumQueueClasses];
  Samples signals_;
  Samples late_[kNumDeviceKinds][kNumQueueClasses], in_time_[kNumDeviceKinds][kNumQueueClasses];
  int first_on_[kNumDeviceKinds][kNumQueueClasses] = {};  // steps whose first command ran there
  std::vector<IssueSample> issues_[kNumDeviceKinds];
  Samples step_start_, step_finish_;
};

// A chain is a sum of hand-offs, of which each counts.
GapModel GapsOfChain(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps) {
  GapSampler sampler(schedule, machine);
  GapModel chain;
  steps = TypicalSteps(std::move(steps));
  for (const MeasuredStep& step : steps) sampler.AddGaps(step);
  sampler.FinishGaps(&chain);
  for (const MeasuredStep& step : steps) sampler.AddHandoffs(step, chain);
  sampler.FinishHandoffs(MeanNs, &chain);
  return chain;
}

}  // namespace

GapModel EstimateGaps(const Schedule& schedule, const Machine& machine, std::span<const MeasuredStep> steps) {
  GapSampler sampler(schedule, machine);
  GapModel gaps;
  for (const MeasuredStep& step : steps) {
    sampler.AddGaps(step);
    sampler.AddIssues(step);
    sampler.AddStep(step);
  }
  sampler.FinishGaps(&gaps);
  sampler.FinishIssues(&gaps);
  sampler.FinishStep(&gaps);
  for (const MeasuredStep& step : steps) sampler.AddHandoffs(step, gaps);
  sampler.FinishHandoffs(MedianNs, &gaps);
  for (const MeasuredStep& step : steps) sampler.AddWakes(step, gaps);
  sampler.FinishWakes(&gaps);
  return gaps;
}

void TakeGapsOfChain(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps,
                     GapModel* gaps) {
  const GapModel chain = GapsOfChain(schedule, machine, std::move(steps));
  gaps->handoff_ns = chain.handoff_ns;
  const auto device = static_cast<size_t>(DeviceKind::kVirtual),
             copies = static_cast<size_t>(QueueClass::kCopy);
  gaps->gap_ns[device][copies] = chain.gap_ns[device][copies];
}

void TakeGapsOfMessages(const Schedule& schedule, const Machine& machine, std::vector<MeasuredStep> steps,
                        GapModel* gaps) {
  const GapModel chain = GapsOfChain(schedule, machine, std::move(steps));
  constexpr auto kMessages = static_cast<size_t>(QueueClass::kMessage);
  for (size_t other = 0; other < kNumQueueClasses; ++other) {
    gaps->handoff_ns[kMessages][other] = chain.handoff_ns[kMessages][other];
    gaps->handoff_ns[other][kMessages] = chain.handoff_ns[other][kMessages];
  }
  gaps->signal_ns = chain.signal_ns;
}

}  // namespace lanescope::sims
