// The simulator's event loop. Included by simulator.cpp alone.
#pragma once

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "sims/domain_loads.h"
#include "sims/handoff_heap.h"
#include "sims/lane_state.h"
#include "sims/link_sharing.h"
#include "sims/simulation_plan.h"
#include "sims/simulator.h"
#include "sims/ticks.h"
#include "sims/timer_tree.h"

namespace lanescope {

// One run. kShared: copies share links. kInterfere: commands slow each other down.
template <bool kShared, bool kInterfere>
class SimulationLoop {
 public:
  SimulationLoop(const SimulationPlan& plan, SimulationScratch* scratch, const CommandCosts& costs,
                 SimulationResult* result)
      : plan_(plan),
        tasks_(scratch->tasks.data()),
        ready_(scratch->ready.data()),
        times_(result->times.data()),
        busy_(result->queue_busy_ns.data()),
        timers_(plan.lanes.size()),
        lanes_(plan.lanes.size()),
        sharing_(kShared ? plan.capacities : std::vector<double>{}, static_cast<int>(plan.lanes.size()),
                 plan.max_hops),
        domains_(plan, costs) {
    if (plan.any_handoff) ready_at_.assign(plan.tasks.size(), 0);
    touched_.reserve(plan.lanes.size());
  }

  // Returns the time of the last end.
  Ticks Run() {
    ReleaseRoots();
    const size_t total = plan_.tasks.size();
    while (true) {
      for (size_t i = 0; i < touched_.size(); ++i) Dispatch(touched_[i]);
      touched_.clear();
      if constexpr (kShared || kInterfere) Settle();
      if (finished_ == total) return now_;
      Advance();
    }
  }
  int64_t solutions() const { return sharing_.solutions(); }

 private:
  static constexpr int kFinished = -1;  // of Task::pending
  using Phase = LaneState::Phase;
  Task& task(int command) { return tasks_[static_cast<size_t>(command)]; }
  LaneState& lane(int queue) { return lanes_[static_cast<size_t>(queue)]; }
  bool IsSync(int command) const { return !plan_.sync.empty() && plan_.sync[static_cast<size_t>(command)]; }

  void ReleaseRoots() {
    now_ = plan_.step_start;
    for (size_t q = 0; q < lanes_.size(); ++q) {
      if (plan_.lanes[q].first_pick <= now_) continue;
      lanes_[q].running = LaneState::kAsleep;
      lanes_[q].phase = Phase::kStarting;
      timers_.Set(static_cast<int>(q), plan_.lanes[q].first_pick);
    }
    for (size_t c = 0; c < plan_.tasks.size(); ++c) {
      if (tasks_[c].pending == 0) MakeReady(static_cast<int>(c));
    }
  }

  void Touch(int queue) {
    if (lane(queue).touched) return;
    lane(queue).touched = true;
    touched_.push_back(queue);
  }

  void MakeReady(int command) {
    const Task& t = task(command);
    ready_[static_cast<size_t>(t.queue)].Push(t.rank, command);
    if (lane(t.queue).running < 0) Touch(t.queue);
  }

  // Moves to the next instant and lets everything happen that is due.
  void Advance() {
    Ticks next = timers_.EarliestTime();
    next = std::min(next, handoffs_.EarliestTime());
    if (next == kNever) ThrowStuck();
    if (next > kMaxTicks) {
      Throw(Code::kOutOfRange, "virtual time exceeds 26 days; check the costs, gaps and link bandwidths");
    }
    now_ = next;
    while (timers_.EarliestTime() == now_) Expire(timers_.Earliest());
    while (handoffs_.EarliestTime() == now_) MakeReady(handoffs_.Pop());
  }

  [[noreturn]] void ThrowStuck() const {
    size_t first = 0;
    while (tasks_[first].pending == kFinished) ++first;
    Throw(Code::kFailedPrecondition,
          "{} of {} commands can never start: they wait for each other, the first is command {}; check the "
          "schedule's order",
          plan_.tasks.size() - finished_, plan_.tasks.size(), first);
  }

  void Dispatch(int queue) {
    LaneState& state = lane(queue);
    state.touched = false;
    if (state.running >= 0) return;
    const int command = ready_[static_cast<size_t>(queue)].Pop();
    if (command < 0) return;
    const Task& t = task(command);
    Ticks start = now_;
    if (!IsSync(command)) {
      start = std::max(start, state.free_at);
      const Ticks issue = plan_.lanes[static_cast<size_t>(queue)].issue;
      if (issue > 0) start = std::max(start, state.issued += issue);
    }
    CommandTime& time = times_[command];
    time.start_ns = NsOf(start);
    time.previous = state.previous;
    time.released = t.released;
    state.running = command;
    state.started = start;
    PrefetchSuccessors(command);
    Begin(queue, command, start);
  }

  // What an end will touch is fetched while others run: successors now, their tasks at the next dispatch.
  void PrefetchSuccessors(int command) {
    __builtin_prefetch(plan_.successors + task(command).first_successor);
    if (fetching_ >= 0) {
      const Task& t = task(fetching_);
      for (int i = t.first_successor; i < t.end_successor; ++i)
        __builtin_prefetch(&task(plan_.successors[i]), 1);
    }
    fetching_ = command;
  }

  void Begin(int queue, int command, Ticks start) {
    LaneState& state = lane(queue);
    const Ticks duration = task(command).duration;
    state.phase = Phase::kFixed;
    Ticks moves_at = start;
    bool flows = false;
    if constexpr (kShared) {
      const int route = plan_.route_of[static_cast<size_t>(command)];
      if (route >= 0) {
        const Ticks latency = plan_.routes[static_cast<size_t>(route)].latency;
        flows = duration > latency && plan_.bytes[static_cast<size_t>(command)] > 0;
        if (flows) moves_at = start + latency;
      }
    }
    bool interferes = false;
    if constexpr (kInterfere) interferes = plan_.lanes[static_cast<size_t>(queue)].domain >= 0;
    if (duration == 0 || (!flows && !interferes)) {
      timers_.Set(queue, start + duration);
    } else if (moves_at > now_) {
      state.phase = Phase::kWaiting;
      timers_.Set(queue, moves_at);
    } else {
      BeginMoving(queue);
    }
  }

  // The running command starts to use links or silicon that others use too.
  void BeginMoving(int queue) {
    LaneState& state = lane(queue);
    const int command = state.running;
    const Ticks duration = task(command).duration;
    bool flows = false;
    if constexpr (kShared) {
      const int route = plan_.route_of[static_cast<size_t>(command)];
      flows = route >= 0 && duration > plan_.routes[static_cast<size_t>(route)].latency &&
              plan_.bytes[static_cast<size_t>(command)] > 0;
      if (flows) BeginFlow(queue, command, plan_.routes[static_cast<size_t>(route)]);
    }
    if (!flows) {
      state.phase = Phase::kWorking;
      state.remaining = static_cast<double>(duration);
      state.slowdown = 1;
      state.updated = now_;
      timers_.Set(queue, now_ + duration);
    }
    if constexpr (kInterfere) domains_.Enter(plan_.lanes[static_cast<size_t>(queue)], command, &state);
  }

  void BeginFlow(int queue, int command, const CopyRoute& route) {
    lane(queue).phase = Phase::kFlowing;
    const Flow flow = FlowAlone(route, plan_.bytes[static_cast<size_t>(command)], task(command).duration);
    sharing_.Start(queue, now_,
                   {plan_.route_resources.data() + route.first, static_cast<size_t>(route.count)}, flow.bytes,
                   flow.limit);
  }

  void Expire(int queue) {
    LaneState& state = lane(queue);
    timers_.Set(queue, kNever);
    if (state.phase == Phase::kWaiting) return BeginMoving(queue);
    if (state.phase == Phase::kStarting) return Awake(queue);
    if constexpr (kShared) {
      if (state.phase == Phase::kFlowing) sharing_.End(queue);
    }
    if constexpr (kInterfere) domains_.Leave(plan_.lanes[static_cast<size_t>(queue)], &state);
    Finish(queue);
  }

  void Awake(int queue) {
    LaneState& state = lane(queue);
    state.phase = Phase::kFixed;
    state.running = LaneState::kIdle;
    Touch(queue);
  }

  void Finish(int queue) {
    LaneState& state = lane(queue);
    const int command = state.running;
    const int64_t end_ns = NsOf(now_);
    times_[command].end_ns = end_ns;
    busy_[queue] += end_ns - NsOf(state.started);
    state.running = -1;
    state.previous = command;
    if (!IsSync(command)) state.free_at = now_ + plan_.lanes[static_cast<size_t>(queue)].gap;
    ++finished_;
    Touch(queue);
    Task& t = task(command);
    t.pending = kFinished;
    for (int i = t.first_successor; i < t.end_successor; ++i) Release(plan_.successors[i], command, queue);
  }

  // One dependency of `command` is satisfied by the end of `by`, which ran on `queue`.
  void Release(int command, int by, int queue) {
    Task& t = task(command);
    --t.pending;
    if (!plan_.any_handoff) {
      t.released = by;
      if (t.pending == 0) MakeReady(command);
      return;
    }
    Ticks at = now_;
    if (t.queue != queue) {
      at += plan_.handoff[static_cast<size_t>(plan_.lanes[static_cast<size_t>(queue)].kind)]
                         [static_cast<size_t>(plan_.lanes[static_cast<size_t>(t.queue)].kind)];
    }
    Ticks& ready_at = ready_at_[static_cast<size_t>(command)];
    if (at >= ready_at) {
      ready_at = at;
      t.released = by;
    }
    if (t.pending > 0) return;
    if constexpr (kInterfere) {
      if (t.queue != queue && lane(t.queue).running < 0)
        ready_at += domains_.CoreWait(t.queue, lanes_, timers_, now_);
    }
    if (ready_at <= now_) return MakeReady(command);
    handoffs_.Push(ready_at, command);
  }

  // Rates after all that changed at this instant.
  void Settle() {
    if constexpr (kInterfere) domains_.Settle(lanes_, [this](int queue, double by) { SlowDown(queue, by); });
    if constexpr (kShared) {
      if (!sharing_.dirty()) return;
      for (const int queue : sharing_.Solve(now_)) timers_.Set(queue, sharing_.finish(queue));
    }
  }

  void SlowDown(int queue, double slowdown) {
    LaneState& state = lane(queue);
    if (state.phase == Phase::kFlowing) {
      sharing_.SetSlowdown(queue, slowdown);
    } else if (slowdown != state.slowdown) {
      state.remaining -= static_cast<double>(now_ - state.updated) / state.slowdown;
      state.remaining = std::max(state.remaining, 0.0);
      state.updated = now_;
      state.slowdown = slowdown;
      const double wait = std::min(state.remaining * slowdown, static_cast<double>(kMaxTicks));
      timers_.Set(queue, now_ + static_cast<Ticks>(wait + 0.5));
    }
  }

  const SimulationPlan& plan_;
  Task* tasks_;
  ReadyQueue* ready_;
  CommandTime* times_;
  int64_t* busy_;
  Ticks now_ = 0;
  size_t finished_ = 0;
  int fetching_ = -1;
  TimerTree timers_;
  std::vector<LaneState> lanes_;
  std::vector<int> touched_;
  HandoffHeap handoffs_;
  std::vector<Ticks> ready_at_;
  LinkSharing sharing_;
  DomainLoads domains_;
};

}  // namespace lanescope
