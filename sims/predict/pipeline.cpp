// SPDX-License-Identifier: Apache-2.0
#include "sims/predict/pipeline.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

constexpr int64_t kCountedSteps = 400;
constexpr int kFirstSteps = 20;  // at least, before those that are counted
constexpr double kNothingNs = 1e-6;
constexpr double kLeastShare = 0.1;  // of the cores, which those that yield have even so
constexpr int64_t kMaxEvents = 20'000'000;

using Consume = std::function<void(const PipelineRecord&)>;

class PipelineLoop {
 public:
  // `consume`: empty where nothing is recorded.
  PipelineLoop(const Pipeline& pipeline, int64_t counted_steps, Consume consume)
      : pipeline_(pipeline), counted_steps_(counted_steps), consume_(std::move(consume)) {
    queues_.resize(pipeline.queues.size());
    stages_.resize(pipeline.stages.size());
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      const PipelineStage& stage = pipeline.stages[s];
      const auto threads = static_cast<size_t>(stage.threads);
      for (size_t t = 0; t < threads; ++t)
        actors_.push_back({.stage = s, .next_time = stage.times.size() * t / threads});
    }
    first_steps_ = kFirstSteps + StepsThatFillQueues();
  }

  PipelineResult Run() {
    for (size_t a = 0; a < actors_.size(); ++a) Begin(a);
    Serve();
    while (steps_ < first_steps_ + counted_steps_) {
      if (++events_ > kMaxEvents && !consume_) break;
      Advance();
      Serve();
    }
    return Result();
  }

 private:
  // The parts of a step of an actor's thread, in order.
  enum class Phase { kBefore, kTakes, kTurn, kExclusive, kWork, kPuts };
  struct Actor {
    size_t stage = 0;
    Phase phase = Phase::kBefore;
    size_t access = 0;                      // of takes or puts
    int64_t missing = 0;                    // elements of it
    double remaining = 0;                   // ns of work
    double begun = 0;                       // when its wait or work began
    size_t next_time = 0;                   // of its stage's times
    int64_t exclusive_ns = 0, work_ns = 0;  // of this step
    int64_t steps = 0;                      // done
    size_t load = 0;                        // of its stage's loads
    double load_left = 0;
    double step_begun = 0;
  };
  struct QueueState {
    int64_t size = 0;
    std::deque<size_t> takers, putters;  // actors, in order
    double area = 0, starved = 0, full = 0, since = 0;
  };
  struct StageState {
    bool turn_taken = false;
    std::deque<size_t> for_turn;
    int64_t steps = 0;
    double work = 0, waiting = 0, turn = 0, blocked = 0;
  };

  // The first stage's, until as much has passed as queues can hold.
  int64_t StepsThatFillQueues() const {
    int64_t most = 0;
    for (const QueueAccess& take : pipeline_.stages.front().takes) {
      const PipelineQueue& queue = pipeline_.queues[static_cast<size_t>(take.queue)];
      const int64_t held = std::max(queue.capacity, queue.kept);
      most = std::max(most, 2 * held / std::max<int64_t>(take.elements, 1));
    }
    return std::min<int64_t>(most, 10'000);
  }

  const PipelineStage& StageOf(const Actor& actor) const { return pipeline_.stages[actor.stage]; }
  static bool Works(const Actor& actor) {
    return actor.phase == Phase::kBefore || actor.phase == Phase::kExclusive || actor.phase == Phase::kWork;
  }

  void StartWork(Actor* actor, Phase phase, int64_t ns) {
    actor->phase = phase;
    actor->remaining = static_cast<double>(ns);
    actor->begun = now_;
  }

  void Begin(size_t a) {
    Actor& actor = actors_[a];
    const PipelineStage& stage = StageOf(actor);
    actor.exclusive_ns = stage.exclusive_ns;
    actor.work_ns = stage.work_ns;
    if (!stage.times.empty()) {
      const int64_t all = stage.times[actor.next_time++ % stage.times.size()];
      actor.exclusive_ns = std::min(all, stage.exclusive_ns);
      actor.work_ns = all - actor.exclusive_ns;
    }
    actor.step_begun = now_;
    actor.load = 0;
    actor.load_left = stage.loads.empty() ? 0 : static_cast<double>(stage.loads[0].ns);
    StartWork(&actor, Phase::kBefore, stage.before_ns);
  }

  // To the next access of a list, or on.
  void StartAccess(size_t a, Phase phase, size_t access) {
    Actor& actor = actors_[a];
    const PipelineStage& stage = StageOf(actor);
    const auto& list = phase == Phase::kTakes ? stage.takes : stage.puts;
    if (access == list.size()) return phase == Phase::kTakes ? WantTurn(a) : EndStep(a);
    actor.phase = phase;
    actor.access = access;
    actor.missing = list[access].elements;
    actor.begun = now_;
    if (a == 0 && phase == Phase::kTakes && access == 0) record_.asked = Counted(now_);
    QueueState& queue = queues_[static_cast<size_t>(list[access].queue)];
    (phase == Phase::kTakes ? queue.takers : queue.putters).push_back(a);
    touched_ = true;
  }

  void WantTurn(size_t a) {
    Actor& actor = actors_[a];
    if (a == 0) record_.had = Counted(now_);
    if (StageOf(actor).takes.empty() && a == 0) record_.asked = record_.had;
    if (actor.exclusive_ns == 0) return StartWork(&actor, Phase::kWork, actor.work_ns);
    StageState& stage = stages_[actor.stage];
    actor.phase = Phase::kTurn;
    actor.begun = now_;
    stage.for_turn.push_back(a);
    GiveTurn(actor.stage);
  }

  void GiveTurn(size_t s) {
    StageState& stage = stages_[s];
    if (stage.turn_taken || stage.for_turn.empty()) return;
    stage.turn_taken = true;
    const size_t a = stage.for_turn.front();
    Actor& actor = actors_[a];
    stage.for_turn.pop_front();
    stage.turn += now_ - actor.begun;
    RecordWait(a, -1, StageOf(actor).turn_node);
    StartWork(&actor, Phase::kExclusive, actor.exclusive_ns);
  }

  void EndWork(size_t a) {
    Actor& actor = actors_[a];
    StageState& stage = stages_[actor.stage];
    stage.work += now_ - actor.begun;
    if (actor.phase == Phase::kBefore) return StartAccess(a, Phase::kTakes, 0);
    if (actor.phase == Phase::kWork) return StartAccess(a, Phase::kPuts, 0);
    stage.turn_taken = false;
    StartWork(&actor, Phase::kWork, actor.work_ns);
    GiveTurn(actor.stage);
  }

  void EndStep(size_t a) {
    Actor& actor = actors_[a];
    ++stages_[actor.stage].steps;
    if (records() && a > 0)
      record_.steps.push_back(
          {static_cast<int>(a) - 1, actor.steps, Counted(actor.step_begun), Counted(now_)});
    ++actor.steps;
    if (a == 0) EndCountedStep();
    Begin(a);
  }

  void EndCountedStep() {
    if (++steps_ == first_steps_) StartCounting();
    if (records() && steps_ > first_steps_) {
      record_.end = Counted(now_);
      consume_(record_);
    }
    record_ = {.begin = Counted(now_), .fills = std::exchange(first_fills_, {})};
  }

  bool records() const { return consume_ != nullptr && steps_ >= first_steps_; }
  double Counted(double time) const { return std::max(0.0, time - counted_from_); }

  // That it has waited since it began to.
  void RecordWait(size_t a, int queue, int node) {
    const Actor& actor = actors_[a];
    if (!records() || now_ <= actor.begun) return;
    record_.waits.push_back({static_cast<int>(a) - 1, a == 0 ? steps_ - first_steps_ : actor.steps, queue,
                             node, Counted(actor.begun), Counted(now_)});
  }

  // Attempts that can go on do, until none can.
  void Serve() {
    while (touched_) {
      touched_ = false;
      for (size_t q = 0; q < queues_.size(); ++q) {
        while (ServeSide(q, false) || ServeSide(q, true)) {
        }
      }
    }
  }

  // The head of a side takes or puts what it can. Whether it is done.
  bool ServeSide(size_t q, bool takes) {
    QueueState& queue = queues_[q];
    const PipelineQueue& spec = pipeline_.queues[q];
    std::deque<size_t>& side = takes ? queue.takers : queue.putters;
    if (side.empty()) return false;
    const int64_t room = spec.capacity < 0 ? std::numeric_limits<int64_t>::max() : spec.capacity - queue.size;
    const int64_t can = takes ? queue.size - spec.kept : room;
    const size_t a = side.front();
    Actor& actor = actors_[a];
    const int64_t moved = std::clamp<int64_t>(can, 0, actor.missing);
    if (moved > 0) {
      queue.area += static_cast<double>(queue.size) * (now_ - queue.since);
      queue.since = now_;
      queue.size += takes ? -moved : moved;
      if (records()) record_.fills.push_back({static_cast<int>(q), Counted(now_), queue.size});
      actor.missing -= moved;
      touched_ = true;
    }
    if (actor.missing > 0) return false;
    side.pop_front();
    const double waited = now_ - actor.begun;
    StageState& stage = stages_[actor.stage];
    (takes ? stage.waiting : stage.blocked) += waited;
    const auto& list = takes ? StageOf(actor).takes : StageOf(actor).puts;
    RecordWait(a, static_cast<int>(q), list[actor.access].node);
    if (takes && actor.stage == 0) queue.starved += waited;
    StartAccess(a, takes ? Phase::kTakes : Phase::kPuts, actor.access + 1);
    return true;
  }

  // Cores that the actor's work wants now.
  double CoresOf(const Actor& actor) const {
    const PipelineStage& stage = StageOf(actor);
    if (stage.loads.empty()) return stage.cores;
    return actor.load < stage.loads.size() ? stage.loads[actor.load].cores : 0;
  }
  // Until its work, or what it wants, ends.
  double Ahead(const Actor& actor) const {
    const bool changes = actor.load < StageOf(actor).loads.size();
    return changes ? std::min(actor.remaining, actor.load_left) : actor.remaining;
  }
  // Work that wants so many cores.
  struct Wanted {
    double first = 0, fair = 0, yielding = 0;  // of the first stage, of others like it, of those that yield
  };
  struct Speeds {
    double first = 1, fair = 1, yielding = 1;
  };
  // The first stage has waited already for cores that it alone wants beyond those that there are.
  Speeds SpeedsOf(const Wanted& wanted) const {
    const double cores = pipeline_.cores, before = wanted.first + wanted.fair;
    if (cores <= 0 || before + wanted.yielding <= cores) return {};
    const double share = before > cores ? cores / before : 1;
    const double left = std::max(cores - before, kLeastShare * cores);
    return {share * std::max(1.0, wanted.first / cores), share,
            wanted.yielding > left ? left / wanted.yielding : 1};
  }
  double& PartOf(const Actor& actor, Wanted* wanted) const {
    if (actor.stage == 0) return wanted->first;
    return StageOf(actor).yields ? wanted->yielding : wanted->fair;
  }
  double SpeedOf(const Actor& actor, const Speeds& speeds) const {
    if (actor.stage == 0) return speeds.first;
    return StageOf(actor).yields ? speeds.yielding : speeds.fair;
  }

  // To the next end of some work.
  void Advance() {
    Wanted wanted;
    for (const Actor& actor : actors_) {
      if (Works(actor)) PartOf(actor, &wanted) += CoresOf(actor);
    }
    const Speeds speeds = SpeedsOf(wanted);
    double least = std::numeric_limits<double>::infinity();
    for (const Actor& actor : actors_) {
      if (Works(actor)) least = std::min(least, Ahead(actor) / SpeedOf(actor, speeds));
    }
    if (std::isinf(least)) Throw(Code::kFailedPrecondition, "the steps of this pipeline wait for each other");
    for (QueueState& queue : queues_) {
      if (!queue.putters.empty()) queue.full += least;
    }
    now_ += least;
    ended_.clear();
    for (size_t a = 0; a < actors_.size(); ++a) {
      if (!Works(actors_[a])) continue;
      Work(&actors_[a], least * SpeedOf(actors_[a], speeds));
      if (actors_[a].remaining <= kNothingNs) ended_.push_back(a);
    }
    for (const size_t a : ended_) EndWork(a);
  }

  void Work(Actor* actor, double ns) {
    const std::vector<StageLoad>& loads = StageOf(*actor).loads;
    actor->remaining -= ns;
    actor->load_left -= ns;
    while (actor->load < loads.size() && actor->load_left <= kNothingNs) {
      if (++actor->load < loads.size()) actor->load_left += static_cast<double>(loads[actor->load].ns);
    }
  }

  void StartCounting() {
    counted_from_ = now_;
    for (QueueState& queue : queues_) {
      queue.area = queue.starved = queue.full = 0;
      queue.since = now_;
    }
    for (StageState& stage : stages_) {
      stage.steps = 0;
      stage.work = stage.waiting = stage.turn = stage.blocked = 0;
    }
    // Waiting actors count from here on.
    for (Actor& actor : actors_) {
      actor.begun = now_;
      actor.steps = 0;
    }
    if (!consume_) return;
    for (size_t q = 0; q < queues_.size(); ++q)
      first_fills_.push_back({static_cast<int>(q), 0, queues_[q].size});
  }

  PipelineResult Result() const {
    const double counted = now_ - counted_from_;
    const auto steps = static_cast<double>(steps_ - first_steps_);
    if (steps <= 0 || counted <= 0)
      Throw(Code::kInvalidArgument, "a pipeline whose steps take no time has no speed");
    PipelineResult result;
    result.step_ns = counted / steps;
    result.wait_ns = (stages_[0].waiting + stages_[0].blocked) / steps;
    for (const QueueState& queue : queues_) {
      const double area = queue.area + static_cast<double>(queue.size) * (now_ - queue.since);
      result.queues.push_back({area / counted, queue.starved / counted, queue.full / counted});
    }
    for (size_t s = 0; s < stages_.size(); ++s) {
      const StageState& stage = stages_[s];
      const auto count = static_cast<double>(std::max<int64_t>(stage.steps, 1));
      const double time = counted * std::max(1, pipeline_.stages[s].threads);
      result.stages.push_back({static_cast<double>(stage.steps) / counted * 1e9, stage.work / count,
                               stage.waiting / time, stage.turn / time, stage.blocked / time});
    }
    return result;
  }

  const Pipeline& pipeline_;
  const int64_t counted_steps_;
  const Consume consume_;
  PipelineRecord record_;
  std::vector<PipelineRecord::Fill> first_fills_;
  std::vector<QueueState> queues_;
  std::vector<StageState> stages_;
  std::vector<Actor> actors_;
  std::vector<size_t> ended_;
  double now_ = 0, counted_from_ = 0;
  int64_t steps_ = 0, first_steps_ = 0, events_ = 0;
  bool touched_ = false;
};

void Check(const Pipeline& pipeline) {
  if (pipeline.stages.empty() || pipeline.stages.front().threads != 1)
    Throw(Code::kInvalidArgument, "a pipeline needs a first stage of one thread");
  const auto& first = pipeline.stages.front();
  if (first.before_ns + first.exclusive_ns + first.work_ns <= 0 && first.takes.empty())
    Throw(Code::kInvalidArgument, "a pipeline whose steps take no time has no speed");
  for (const PipelineStage& stage : pipeline.stages) {
    const bool idle = stage.before_ns + stage.exclusive_ns + stage.work_ns <= 0 ||
                      (!stage.times.empty() && std::ranges::count(stage.times, 0) == std::ssize(stage.times));
    if (idle && &stage != &first)
      Throw(Code::kInvalidArgument, "steps of '{}' take no time; nothing is known of them", stage.name);
    for (const auto* list : {&stage.takes, &stage.puts}) {
      for (const QueueAccess& access : *list)
        LANESCOPE_CHECK(static_cast<size_t>(access.queue) < pipeline.queues.size());
    }
  }
}

}  // namespace

PipelineResult SimulatePipeline(const Pipeline& pipeline) {
  Check(pipeline);
  return PipelineLoop(pipeline, kCountedSteps, nullptr).Run();
}

void RecordPipeline(const Pipeline& pipeline, int64_t steps,
                    const std::function<void(const PipelineRecord&)>& consume) {
  Check(pipeline);
  PipelineLoop(pipeline, steps, consume).Run();
}

}  // namespace lanescope::sims
