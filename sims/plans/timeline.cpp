// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "sims/plans/pipeline_walk.h"

namespace lanescope::sims::plans {
namespace {

// As the step is said in JSON (sims/plans/report.h).
int64_t Ns(double seconds) { return static_cast<int64_t>(std::min(seconds * 1e9, 0x1p62)); }

// The stage at which this comes last.
int LastStage(const PipelineWalk& walk, double StageWalk::*time) {
  const auto last = std::max_element(walk.stages.begin(), walk.stages.end(),
                                     [&](const auto& a, const auto& b) { return a.*time < b.*time; });
  return static_cast<int>(last - walk.stages.begin());
}

// Which slices of a stage a pass is: where it begins, its last one, and that of the message behind it.
struct PassSlices {
  PipelinePass pass;
  size_t first = 0, last = 0, message = 0;
};

// The slices of one stage.
class StagePainter {
 public:
  StagePainter(const PlanTimes& times, const PipelineWalk& walk, int stage)
      : times_(times.stages[static_cast<size_t>(stage)]), walk_(walk), stage_(stage) {}

  std::vector<PlanSlice> Paint() {
    const StageWalk& walked = walk_.stages[static_cast<size_t>(stage_)];
    FindPhases(walked);
    Work(SliceKind::kGather, times_.gather.exposed);
    Beside(SliceKind::kGatherBeside, now_, times_.gather.hidden);
    for (const WalkedPass& pass : walked.passes) Pass(pass);
    micro_batch_ = part_ = -1;
    Beside(SliceKind::kReduceBeside, now_ - times_.reduce.hidden, times_.reduce.hidden);
    Work(SliceKind::kReduce, times_.reduce.exposed);
    reduced_ = slices_.size() - 1;
    Idle(SliceKind::kDrain, walk_.reduced, -1);
    optimizer_ = slices_.size();
    Work(SliceKind::kOptimizer, times_.update);
    Idle(SliceKind::kWait, walk_.updated, LastStage(walk_, &StageWalk::updated));
    Idle(SliceKind::kLast, walk_.seconds, -1);
    return std::move(slices_);
  }
  const std::vector<PassSlices>& passes() const { return passes_; }
  size_t optimizer() const { return optimizer_; }
  size_t reduced() const { return reduced_; }

 private:
  // Until its first gradients the pipeline fills, behind its last forward pass it drains.
  void FindPhases(const StageWalk& walked) {
    bool filling = true;
    for (const WalkedPass& pass : walked.passes) {
      if (pass.pass.is_backward() && std::exchange(filling, false)) filled_ = pass.start;
      if (!pass.pass.is_backward()) draining_ = pass.end;
    }
  }

  void Pass(const WalkedPass& walked) {
    micro_batch_ = walked.pass.micro_batch;
    part_ = walked.pass.part;
    const bool backward = walked.pass.is_backward();
    const SliceKind kind = walked.start <= filled_    ? SliceKind::kFill
                           : walked.start > draining_ ? SliceKind::kDrain
                                                      : SliceKind::kWait;
    Idle(kind, walked.start, walked.waited_for);
    const PassTimes& times = (backward ? times_.backward : times_.forward)[static_cast<size_t>(part_)];
    PassSlices known{walked.pass, slices_.size()};
    Work(SliceKind::kGather, times.gather.exposed);
    // The next layer's parameters come while this one's are used.
    Beside(SliceKind::kGatherBeside, now_, times.gather.hidden);
    Beside(SliceKind::kReduceBeside, now_ + times.gather.hidden, times.scatter.hidden);
    Work(SliceKind::kRecompute, times.recomputed());
    Work(backward ? SliceKind::kBackward : SliceKind::kForward, times.compute());
    Work(SliceKind::kTensor, times.again.tensor + times.work.tensor);
    Work(SliceKind::kContext, times.again.context + times.work.context);
    Work(SliceKind::kExperts, times.again.experts + times.work.experts);
    Work(SliceKind::kReduce, times.scatter.exposed);
    known.last = slices_.size() - 1;
    Work(SliceKind::kMessage, walked.sent);
    known.message = slices_.size() - 1;
    passes_.push_back(known);
  }

  void Add(SliceKind kind, double start, double end, int stage = -1) {
    if (Ns(end) > Ns(start)) slices_.push_back({kind, Ns(start), Ns(end), micro_batch_, part_, stage});
  }
  void Work(SliceKind kind, double seconds) {
    Add(kind, now_, now_ + seconds);
    now_ += seconds;
  }
  // A moment later than the work beside it, which so comes first wherever slices are sorted.
  void Beside(SliceKind kind, double start, double seconds) {
    Add(kind, std::max(0.0, start) + 1e-9, start + seconds);
  }
  // From now until then.
  void Idle(SliceKind kind, double until, int stage) {
    const int micro_batch = std::exchange(micro_batch_, -1), part = std::exchange(part_, -1);
    Add(kind, now_, until, kind == SliceKind::kWait ? stage : -1);
    micro_batch_ = micro_batch;
    part_ = part;
    now_ = std::max(now_, until);
  }

  const StageTimes& times_;
  const PipelineWalk& walk_;
  const int stage_;
  std::vector<PlanSlice> slices_;
  std::vector<PassSlices> passes_;
  size_t reduced_ = 0, optimizer_ = 0;
  double now_ = 0;
  double filled_ = 0, draining_ = 0;
  int micro_batch_ = -1, part_ = -1;
};

// Passes that wait for neighbours, and optimizers for the gradients that come last.
void AddWaits(const std::vector<StagePainter>& painters, int last_reduced, PlanTimeline* timeline) {
  const int stages = static_cast<int>(painters.size()), parts = stages * timeline->parts;
  using Key = std::tuple<int, int, bool>;  // part of the model, micro-batch, backward
  std::map<Key, std::pair<int, const PassSlices*>> known;
  for (int s = 0; s < stages; ++s) {
    for (const PassSlices& pass : painters[static_cast<size_t>(s)].passes())
      known[{pass.pass.part * stages + s, pass.pass.micro_batch, pass.pass.is_backward()}] = {s, &pass};
  }
  const auto slice = [&](int stage, size_t i) -> const PlanSlice& {
    return timeline->stages[static_cast<size_t>(stage)].slices[i];
  };
  for (const auto& [key, at] : known) {
    const auto [part, micro_batch, backward] = key;
    const int other = backward ? part + 1 : part - 1;
    if (other < 0 || other >= parts || stages == 1) continue;
    const auto [stage, pass] = known.at({other, micro_batch, backward});
    const bool sent = slice(stage, pass->message).end_ns <= slice(at.first, at.second->first).start_ns;
    timeline->waits.push_back({{at.first, at.second->first}, {stage, sent ? pass->message : pass->last}});
  }
  for (int s = 0; s < stages; ++s) {
    if (s == last_reduced) continue;
    timeline->waits.push_back({{s, painters[static_cast<size_t>(s)].optimizer()},
                               {last_reduced, painters[static_cast<size_t>(last_reduced)].reduced()}});
  }
}

}  // namespace

SliceLane LaneOf(SliceKind kind) {
  switch (kind) {
    case SliceKind::kGatherBeside:
    case SliceKind::kReduceBeside:
      return SliceLane::kBeside;
    case SliceKind::kFill:
    case SliceKind::kDrain:
    case SliceKind::kWait:
    case SliceKind::kLast:
      return SliceLane::kIdle;
    default:
      return SliceLane::kWork;
  }
}

std::string SliceOp(const PlanTimeline& timeline, const PlanSlice& slice) {
  const std::string_view reduce = timeline.reduction;
  switch (slice.kind) {
    case SliceKind::kForward:
      return "forward";
    case SliceKind::kRecompute:
      return "recompute";
    case SliceKind::kBackward:
      return "backward";
    case SliceKind::kTensor:
      return "NCCL tensor, exposed";
    case SliceKind::kContext:
      return "NCCL context, exposed";
    case SliceKind::kExperts:
      return "NCCL experts, exposed";
    case SliceKind::kGather:
      return "NCCL all-gather, exposed";
    case SliceKind::kReduce:
      return fmt::format("NCCL {}, exposed", reduce);
    case SliceKind::kMessage:
      return "NCCL send, exposed";
    case SliceKind::kOptimizer:
      return "optimizer";
    case SliceKind::kGatherBeside:
      return "NCCL all-gather, hidden";
    case SliceKind::kReduceBeside:
      return fmt::format("NCCL {}, hidden", reduce);
    case SliceKind::kFill:
      return "bubble: fill";
    case SliceKind::kDrain:
      return "bubble: drain";
    case SliceKind::kWait:
      return fmt::format("waits for stage {}", slice.stage);
    case SliceKind::kLast:
      return "waits for the last node";
  }
  return "";
}

std::string SliceName(const PlanTimeline& timeline, const PlanSlice& slice) {
  const std::string op = SliceOp(timeline, slice);
  if (slice.micro_batch < 0) return op;
  if (timeline.parts == 1) return fmt::format("{} {}", op, slice.micro_batch + 1);
  return fmt::format("{} {}.{}", op, slice.micro_batch + 1, slice.part + 1);
}

PlanTimeline TimelineOf(const ModelShape& model, const Plan& plan, const PlanMachine& machine,
                        double global_batch, double sequence) {
  const PlanTimes times = TimesOf(model, plan, machine, global_batch, sequence);
  const double micro_batches = std::round(times.micro_batches);
  const double passes = 2 * micro_batches * times.parts * static_cast<double>(times.stages.size());
  if (passes > kMostPasses) {
    Throw(Code::kResourceExhausted,
          "a timeline shows up to {:.0f} passes of micro-batches through stages, and the plan has {:.0f}; "
          "take a smaller batch or a larger micro",
          kMostPasses, passes);
  }
  const PipelineWalk walk = WalkPipeline(times);
  LANESCOPE_CHECK(walk.walked == micro_batches);
  PlanTimeline timeline;
  timeline.slowest = walk.slowest;
  timeline.step_ns = Ns(walk.seconds);
  timeline.parts = times.parts;
  if (times.reduces_to_parts) timeline.reduction = "reduce-scatter";
  if (plan.shard == Sharding::kHsdp) timeline.reduction = "reduce-scatter and all-reduce";
  std::vector<StagePainter> painters;
  for (int s = 0; s < plan.pp; ++s) {
    painters.emplace_back(times, walk, s);
    timeline.stages.push_back({s * plan.tp * plan.replicas(), painters.back().Paint()});
  }
  AddWaits(painters, LastStage(walk, &StageWalk::reduced), &timeline);
  return timeline;
}

}  // namespace lanescope::sims::plans
