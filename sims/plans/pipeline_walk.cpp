// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/pipeline_walk.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace lanescope::sims::plans {
namespace {

class Walker {
 public:
  explicit Walker(const PlanTimes& times)
      : times_(times), stages_(static_cast<int>(times.stages.size())), parts_(stages_ * times.parts) {
    // Whole rounds of as many micro-batches as there are stages.
    const double most = std::max(1.0, std::floor(kMostPasses / (2.0 * parts_ * stages_))) * stages_;
    walk_.walked = std::min(std::round(times.micro_batches), most);
    micro_batches_ = static_cast<int>(walk_.walked);
    forward_.assign(static_cast<size_t>(parts_) * static_cast<size_t>(micro_batches_), kNotYet);
    backward_ = forward_;
  }

  PipelineWalk Walk() {
    FindSlowest();
    Pass();
    const double rest = (std::round(times_.micro_batches) - walk_.walked) * Pace(walk_.slowest);
    for (int s = 0; s < stages_; ++s) {
      StageWalk& stage = StageOf(s);
      stage.done += rest;
      stage.reduced = stage.done + TimesOfStage(s).reduce.exposed;
      walk_.reduced = std::max(walk_.reduced, stage.reduced);
    }
    for (int s = 0; s < stages_; ++s) {
      StageOf(s).updated = walk_.reduced + TimesOfStage(s).update;
      walk_.updated = std::max(walk_.updated, StageOf(s).updated);
    }
    walk_.seconds = walk_.updated * (1 + times_.straggling);
    return std::move(walk_);
  }

 private:
  static constexpr double kNotYet = -1;

  const StageTimes& TimesOfStage(int stage) const { return times_.stages[static_cast<size_t>(stage)]; }
  StageWalk& StageOf(int stage) { return walk_.stages[static_cast<size_t>(stage)]; }
  size_t At(int part, int micro_batch) const {
    return static_cast<size_t>(part) * static_cast<size_t>(micro_batches_) + static_cast<size_t>(micro_batch);
  }

  double Work(int stage) const {
    return TimesOfStage(stage).forward_seconds() + TimesOfStage(stage).backward_seconds();
  }
  double Pace(int stage) const { return Work(stage) + 2 * times_.parts * times_.sent(); }
  void FindSlowest() {
    for (int s = 1; s < stages_; ++s) {
      if (Work(s) > Work(walk_.slowest)) walk_.slowest = s;
    }
  }

  // Seconds of each part of a stage, forward and backward.
  struct Lengths {
    std::vector<double> forward, backward;
  };
  Lengths LengthsOf(int stage) const {
    Lengths lengths;
    for (const PassTimes& pass : TimesOfStage(stage).forward) lengths.forward.push_back(pass.seconds());
    for (const PassTimes& pass : TimesOfStage(stage).backward) lengths.backward.push_back(pass.seconds());
    return lengths;
  }

  // The end of the pass that this one needs, with the message from its stage; kNotYet: it is not through.
  double ReadyAt(const PipelinePass& pass, int stage, int* from) const {
    const int part = pass.part * stages_ + stage;
    int other = part;
    if (!pass.is_backward()) {
      if (part == 0) return 0;
      other = part - 1;
    } else if (part + 1 < parts_) {
      other = part + 1;
    }
    const bool needs_forward = !pass.is_backward() || other == part;
    const double end = (needs_forward ? forward_ : backward_)[At(other, pass.micro_batch)];
    *from = other % stages_;
    if (end == kNotYet || *from == stage) return end;
    return end + times_.message;
  }

  void Pass() {
    walk_.stages.resize(static_cast<size_t>(stages_));
    std::vector<std::vector<PipelinePass>> orders;
    std::vector<Lengths> lengths;
    const PipelineSchedule schedule =
        times_.parts > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::k1F1B;
    for (int s = 0; s < stages_; ++s) {
      orders.push_back(PassesOf({schedule, stages_, times_.parts, micro_batches_}, s));
      lengths.push_back(LengthsOf(s));
      StageOf(s).passes.reserve(orders.back().size());
      StageOf(s).done = TimesOfStage(s).gather.exposed;
    }
    for (bool more = true; more;) {
      more = false;
      for (int s = 0; s < stages_; ++s)
        more = Advance(s, orders[static_cast<size_t>(s)], lengths[static_cast<size_t>(s)]) || more;
    }
    for (int s = 0; s < stages_; ++s)
      LANESCOPE_CHECK(StageOf(s).passes.size() == orders[static_cast<size_t>(s)].size());
  }

  // As many passes of a stage as can be taken now; whether there were any.
  bool Advance(int stage, const std::vector<PipelinePass>& order, const Lengths& lengths) {
    StageWalk& walked = StageOf(stage);
    const size_t first = walked.passes.size();
    while (walked.passes.size() < order.size()) {
      const PipelinePass& pass = order[walked.passes.size()];
      int from = stage;
      const double ready = ReadyAt(pass, stage, &from);
      if (ready == kNotYet) break;
      const std::vector<double>& length = pass.is_backward() ? lengths.backward : lengths.forward;
      WalkedPass one{.pass = pass, .start = std::max(walked.done, ready)};
      if (ready > walked.done) one.waited_for = from;
      one.end = one.start + length[static_cast<size_t>(pass.part)];
      // The first stage's last gradients go nowhere.
      const bool is_last = stage == 0 && walked.passes.size() + 1 == order.size();
      one.sent = is_last ? 0 : times_.sent();
      (pass.is_backward() ? backward_ : forward_)[At(pass.part * stages_ + stage, pass.micro_batch)] =
          one.end;
      walked.done = one.end + one.sent;
      walked.passes.push_back(one);
    }
    return walked.passes.size() > first;
  }

  const PlanTimes& times_;
  const int stages_, parts_;  // parts_: of the model
  int micro_batches_ = 1;
  std::vector<double> forward_, backward_;  // by part of the model and micro-batch: when it is through
  PipelineWalk walk_;
};

}  // namespace

PipelineWalk WalkPipeline(const PlanTimes& times) { return Walker(times).Walk(); }

}  // namespace lanescope::sims::plans
