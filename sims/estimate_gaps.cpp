#include <algorithm>
#include <cmath>

#include "sims/calibrate.h"

namespace lanescope {
namespace {

using Samples = std::vector<double>;

// A start within this multiple of what is usual, or within the time that waking takes on a free core, was in
// time.
constexpr int64_t kInTime = 2;
constexpr int64_t kWakeNs = 100'000;

// Mean without the lowest and highest fiftieth; 0 of nothing.
int64_t TrimmedMean(Samples samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const size_t cut = samples.size() / 50;
  double sum = 0;
  for (size_t i = cut; i < samples.size() - cut; ++i) sum += samples[i];
  return std::max<int64_t>(0, std::llround(sum / static_cast<double>(samples.size() - 2 * cut)));
}

// 0 of nothing.
int64_t Median(Samples samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return std::max<int64_t>(0, std::llround(*middle));
}

// A command, the one of its queue that had ended last when it began, and the dependency that ended last.
struct Start {
  int command = -1;
  int previous = -1;
  int released = -1;
};

class GapSampler {
 public:
  GapSampler(const Schedule& schedule, const Machine& machine)
      : schedule_(schedule), machine_(machine), predecessors_(PredecessorsOf(schedule)) {}

  void AddGaps(const MeasuredStep& step) {
    for (const Start& start : StartsOf(step)) {
      if (start.previous < 0 || Ready(step, start) > End(step, start.previous)) continue;
      const Queue& queue = QueueOf(start.command);
      gaps_[static_cast<size_t>(machine_.device(queue.device).kind)][static_cast<size_t>(LaneOf(queue.kind))]
          .push_back(static_cast<double>(Begin(step, start.command) - End(step, start.previous)));
    }
  }

  // After FinishGaps: needs to know how long a queue is busy with its gap.
  void AddHandoffs(const MeasuredStep& step, const GapModel& gaps) {
    for (const Start& start : StartsOf(step)) {
      if (start.released < 0 || start.previous < 0) continue;
      const Queue& from = QueueOf(start.released);
      const Queue& to = QueueOf(start.command);
      if (&from == &to) continue;
      const int64_t ready = Ready(step, start);
      const int64_t gap = gaps.gap(machine_.device(to.device).kind, LaneOf(to.kind));
      if (ready < End(step, start.previous) + gap) continue;
      handoffs_[static_cast<size_t>(LaneOf(from.kind))][static_cast<size_t>(LaneOf(to.kind))].push_back(
          static_cast<double>(Begin(step, start.command) - ready));
    }
  }

  // After FinishHandoffs. A first command that could have begun earlier tells when its driver was awake; one
  // that followed its dependency at once says that the driver was awake in time.
  void AddDriverStarts(const MeasuredStep& step, const GapModel& gaps) {
    for (const Start& start : StartsOf(step)) {
      if (start.previous >= 0) continue;
      const Queue& queue = QueueOf(start.command);
      const LaneKind lane = LaneOf(queue.kind);
      int64_t usual = kWakeNs;
      if (start.released >= 0) {
        usual = std::max(usual, kInTime * gaps.handoff(LaneOf(QueueOf(start.released).kind), lane));
      }
      const bool late = Begin(step, start.command) - Ready(step, start) > usual;
      const auto kind = static_cast<size_t>(machine_.device(queue.device).kind);
      auto& samples =
          late ? late_[kind][static_cast<size_t>(lane)] : in_time_[kind][static_cast<size_t>(lane)];
      samples.push_back(static_cast<double>(Begin(step, start.command) - step.start_ns));
    }
  }

  void AddStep(const MeasuredStep& step) {
    if (step.command_start_ns.empty()) return;
    const auto first = std::min_element(step.command_start_ns.begin(), step.command_start_ns.end());
    const auto last = std::max_element(step.command_end_ns.begin(), step.command_end_ns.end());
    step_start_.push_back(static_cast<double>(*first - step.start_ns));
    step_finish_.push_back(static_cast<double>(step.end_ns - *last));
  }

  void FinishGaps(GapModel* gaps) const {
    for (size_t kind = 0; kind < kNumDeviceKinds; ++kind) {
      for (size_t lane = 0; lane < kNumLaneKinds; ++lane) {
        gaps->gap_ns[kind][lane] = TrimmedMean(gaps_[kind][lane]);
      }
    }
  }
  void FinishHandoffs(GapModel* gaps) const {
    int64_t sum = 0, kinds = 0;
    for (size_t from = 0; from < kNumLaneKinds; ++from) {
      for (size_t to = 0; to < kNumLaneKinds; ++to) {
        gaps->handoff_ns[from][to] = Median(handoffs_[from][to]);
        if (handoffs_[from][to].empty()) continue;
        sum += gaps->handoff_ns[from][to];
        ++kinds;
      }
    }
    for (size_t from = 0; kinds > 0 && from < kNumLaneKinds; ++from) {
      for (size_t to = 0; to < kNumLaneKinds; ++to) {
        if (handoffs_[from][to].empty()) gaps->handoff_ns[from][to] = sum / kinds;
      }
    }
  }
  void FinishStep(GapModel* gaps) const {
    gaps->step_start_ns = TrimmedMean(step_start_);
    gaps->step_finish_ns = TrimmedMean(step_finish_);
    for (size_t kind = 0; kind < kNumDeviceKinds; ++kind) {
      for (size_t lane = 0; lane < kNumLaneKinds; ++lane) {
        const int64_t start = Median(late_[kind][lane]);
        const Samples& in_time = in_time_[kind][lane];
        const auto sooner = static_cast<size_t>(std::count_if(
            in_time.begin(), in_time.end(), [&](double at) { return at < static_cast<double>(start); }));
        if (late_[kind][lane].size() > sooner) gaps->driver_start_ns[kind][lane] = start;
      }
    }
  }

 private:
  static int64_t Begin(const MeasuredStep& step, int command) {
    return step.command_start_ns[static_cast<size_t>(command)];
  }
  static int64_t End(const MeasuredStep& step, int command) {
    return step.command_end_ns[static_cast<size_t>(command)];
  }
  const Queue& QueueOf(int command) const {
    return schedule_.queues[static_cast<size_t>(schedule_.commands[static_cast<size_t>(command)].queue)];
  }
  static int64_t Ready(const MeasuredStep& step, const Start& start) {
    return start.released < 0 ? step.start_ns : End(step, start.released);
  }

  std::vector<Start> StartsOf(const MeasuredStep& step) const {
    std::vector<std::vector<int>> ran(schedule_.queues.size());
    for (size_t c = 0; c < schedule_.commands.size(); ++c) {
      const Command& command = schedule_.commands[c];
      if (command.kind != CommandKind::kLaunch && command.kind != CommandKind::kCopy) continue;
      ran[static_cast<size_t>(command.queue)].push_back(static_cast<int>(c));
    }
    std::vector<Start> starts;
    for (std::vector<int>& commands : ran) {
      std::stable_sort(commands.begin(), commands.end(),
                       [&](int a, int b) { return Begin(step, a) < Begin(step, b); });
      // What runs beside it on other workers of the queue holds nothing up.
      std::vector<int> by_end = commands;
      std::stable_sort(by_end.begin(), by_end.end(),
                       [&](int a, int b) { return End(step, a) < End(step, b); });
      size_t ended = 0;
      for (const int command : commands) {
        while (ended < by_end.size() && by_end[ended] != command &&
               End(step, by_end[ended]) <= Begin(step, command))
          ++ended;
        const int previous = ended > 0 ? by_end[ended - 1] : -1;
        Start start{command, previous, -1};
        for (const int p : predecessors_.of(command)) {
          if (start.released < 0 || End(step, p) > End(step, start.released)) start.released = p;
        }
        starts.push_back(start);
      }
    }
    return starts;
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const Predecessors predecessors_;
  Samples gaps_[kNumDeviceKinds][kNumLaneKinds];
  Samples handoffs_[kNumLaneKinds][kNumLaneKinds];
  Samples late_[kNumDeviceKinds][kNumLaneKinds], in_time_[kNumDeviceKinds][kNumLaneKinds];
  Samples step_start_, step_finish_;
};

}  // namespace

GapModel EstimateGaps(const Schedule& schedule, const Machine& machine, std::span<const MeasuredStep> steps) {
  GapSampler sampler(schedule, machine);
  GapModel gaps;
  for (const MeasuredStep& step : steps) sampler.AddGaps(step);
  sampler.FinishGaps(&gaps);
  for (const MeasuredStep& step : steps) sampler.AddHandoffs(step, gaps);
  sampler.FinishHandoffs(&gaps);
  for (const MeasuredStep& step : steps) {
    sampler.AddDriverStarts(step, gaps);
    sampler.AddStep(step);
  }
  sampler.FinishStep(&gaps);
  return gaps;
}

}  // namespace lanescope
