// Inside of the simulator: its prepared data and the event loop. Included by simulator.cpp alone.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "core/dispatch.h"
#include "core/error.h"
#include "sims/link_sharing.h"
#include "sims/simulator.h"
#include "sims/ticks.h"
#include "sims/timer_tree.h"

namespace lanescope {

// A command as the loop touches it. One record of 32 bytes and not one array a field: releasing a command
// reads most of it at a place that is not in the cache.
struct alignas(32) Task {
  int pending = 0;  // dependencies not yet satisfied
  int rank = 0;
  int queue = 0;
  int released = -1;
  Ticks duration = 0;
  int first_successor = 0;
  int end_successor = 0;
};

struct CopyRoute {
  int first = 0, count = 0;  // into route_resources
  Ticks latency = 0;
  double bandwidth = 0;  // bytes per tick
};

struct Lane {
  Ticks gap = 0;
  Ticks issue = 0;  // in-order queues whose driver issues ahead
  LaneKind kind = LaneKind::kCompute;
  int domain = -1;   // of shared silicon
  double cores = 0;  // host cores that a launch on it keeps busy
};

struct SimulationPlan {
  std::vector<Task> tasks;
  std::vector<char> sync;  // Record or Wait: no gap around it. Empty: there are none
  const int* successors = nullptr;
  std::vector<Lane> lanes;
  std::vector<std::vector<int>> orders;  // of in-order queues
  Ticks handoff[kNumLaneKinds][kNumLaneKinds] = {};
  bool any_handoff = false;
  Ticks step_start = 0, step_finish = 0;
  // Copies over links; empty without sharing.
  std::vector<int> route_of;  // by command; -1: none
  std::vector<int64_t> bytes;
  std::vector<CopyRoute> routes;
  std::vector<int> route_resources;
  std::vector<double> capacities;  // bytes per tick
  int max_hops = 0;
  // Interference; empty without.
  std::vector<InterferenceMatrix> domains;
  std::vector<std::vector<int>> domain_queues;
};

// What is kept from run to run only to save allocation.
struct SimulationScratch {
  std::vector<Task> tasks;
  std::vector<ReadyQueue> ready;
};

// One run. kShared: copies share links. kInterfere: commands slow each other down.
template <bool kShared, bool kInterfere>
class SimulationLoop {
 public:
  SimulationLoop(const SimulationPlan& plan, SimulationScratch* scratch, const CommandCosts& costs,
                 SimulationResult* result)
      : plan_(plan),
        tasks_(scratch->tasks.data()),
        ready_(scratch->ready.data()),
        costs_(costs),
        times_(result->times.data()),
        busy_(result->queue_busy_ns.data()),
        timers_(plan.lanes.size()),
        lanes_(plan.lanes.size()),
        sharing_(kShared ? plan.capacities : std::vector<double>{}, static_cast<int>(plan.lanes.size()),
                 plan.max_hops),
        loads_(plan.domains.size()),
        domain_dirty_(plan.domains.size()) {
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
  enum class Phase : uint8_t { kFixed, kWaiting, kWorking, kFlowing };
  struct LaneState {
    int running = -1;
    int previous = -1;
    bool touched = false;
    bool active = false;  // counted in its domain's load
    Phase phase = Phase::kFixed;
    CommandClass load_class = CommandClass::kMemory;
    Ticks free_at = 0;
    Ticks started = 0;
    Ticks issued = 0;
    // kWorking: ticks of work left at `updated`, done at 1 / slowdown.
    double remaining = 0;
    double slowdown = 1;
    Ticks updated = 0;
  };
  struct Handoff {
    Ticks time;
    int command;
    bool operator>(const Handoff& other) const {
      return time != other.time ? time > other.time : command > other.command;
    }
  };

  Task& task(int command) { return tasks_[static_cast<size_t>(command)]; }
  LaneState& lane(int queue) { return lanes_[static_cast<size_t>(queue)]; }
  bool IsSync(int command) const { return !plan_.sync.empty() && plan_.sync[static_cast<size_t>(command)]; }

  void ReleaseRoots() {
    now_ = plan_.step_start;
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
    if (!handoffs_.empty()) next = std::min(next, handoffs_.front().time);
    if (next == kNever) ThrowStuck();
    if (next > kMaxTicks) {
      Throw(Code::kOutOfRange, "virtual time exceeds 26 days; check the costs, gaps and link bandwidths");
    }
    now_ = next;
    while (timers_.EarliestTime() == now_) Expire(timers_.Earliest());
    while (!handoffs_.empty() && handoffs_.front().time == now_) {
      std::pop_heap(handoffs_.begin(), handoffs_.end(), std::greater<>());
      MakeReady(handoffs_.back().command);
      handoffs_.pop_back();
    }
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

  // What a command's end will touch is fetched while others run: its list of successors now, and the tasks on
  // it when the next command is dispatched and the list has arrived.
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
    if constexpr (kInterfere) AddLoad(queue, command, +1);
  }

  // Alone, the flow takes the copy's given time less the latency: a slower copy than its links is limited,
  // a faster one (by its size-to-time table) counts as fewer bytes. Differences below a ns are rounding.
  void BeginFlow(int queue, int command, const CopyRoute& route) {
    lane(queue).phase = Phase::kFlowing;
    const auto moving = static_cast<double>(task(command).duration - route.latency);
    auto bytes = static_cast<double>(plan_.bytes[static_cast<size_t>(command)]);
    double limit = route.bandwidth;
    const double alone = bytes / route.bandwidth;
    if (alone < moving - kTicksPerNs) {
      limit = bytes / moving;
    } else if (alone > moving + kTicksPerNs) {
      bytes = moving * route.bandwidth;
    }
    sharing_.Start(queue, now_,
                   {plan_.route_resources.data() + route.first, static_cast<size_t>(route.count)}, bytes,
                   limit);
  }

  void Expire(int queue) {
    LaneState& state = lane(queue);
    timers_.Set(queue, kNever);
    if (state.phase == Phase::kWaiting) return BeginMoving(queue);
    if constexpr (kShared) {
      if (state.phase == Phase::kFlowing) sharing_.End(queue);
    }
    if constexpr (kInterfere) {
      if (state.active) AddLoad(queue, state.running, -1);
    }
    Finish(queue);
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
    if (ready_at <= now_) return MakeReady(command);
    handoffs_.push_back({ready_at, command});
    std::push_heap(handoffs_.begin(), handoffs_.end(), std::greater<>());
  }

  void AddLoad(int queue, int command, int sign) {
    const Lane& about = plan_.lanes[static_cast<size_t>(queue)];
    if (about.domain < 0) return;
    LaneState& state = lane(queue);
    state.active = sign > 0;
    if (sign > 0) {
      state.load_class = about.kind == LaneKind::kCopy ? CommandClass::kCopy
                         : costs_.classes.empty()      ? CommandClass::kMemory
                                                       : costs_.classes[static_cast<size_t>(command)];
    }
    const auto domain = static_cast<size_t>(about.domain);
    DomainLoad& load = loads_[domain];
    load.active[static_cast<size_t>(state.load_class)] += sign;
    const bool copy = state.load_class == CommandClass::kCopy;
    load.cores += sign * (copy ? plan_.domains[domain].copy_cores : about.cores);
    domain_dirty_[domain] = 1;
    any_domain_dirty_ = true;
  }

  // Rates after all that changed at this instant.
  void Settle() {
    if constexpr (kInterfere) {
      if (any_domain_dirty_) {
        for (size_t domain = 0; domain < domain_dirty_.size(); ++domain) {
          if (domain_dirty_[domain]) SettleDomain(domain);
        }
        any_domain_dirty_ = false;
      }
    }
    if constexpr (kShared) {
      if (!sharing_.dirty()) return;
      for (const int queue : sharing_.Solve(now_)) timers_.Set(queue, sharing_.finish(queue));
    }
  }

  void SettleDomain(size_t domain) {
    domain_dirty_[domain] = 0;
    double slowdown[kNumCommandClasses];
    for (int c = 0; c < kNumCommandClasses; ++c) {
      slowdown[c] = Slowdown(plan_.domains[domain], loads_[domain], static_cast<CommandClass>(c));
    }
    for (const int queue : plan_.domain_queues[domain]) {
      LaneState& state = lane(queue);
      if (!state.active) continue;
      const double now_slower = slowdown[static_cast<size_t>(state.load_class)];
      if (state.phase == Phase::kFlowing) {
        sharing_.SetSlowdown(queue, now_slower);
      } else if (now_slower != state.slowdown) {
        state.remaining -= static_cast<double>(now_ - state.updated) / state.slowdown;
        state.remaining = std::max(state.remaining, 0.0);
        state.updated = now_;
        state.slowdown = now_slower;
        const double wait = std::min(state.remaining * now_slower, static_cast<double>(kMaxTicks));
        timers_.Set(queue, now_ + static_cast<Ticks>(wait + 0.5));
      }
    }
  }

  const SimulationPlan& plan_;
  Task* tasks_;
  ReadyQueue* ready_;
  const CommandCosts& costs_;
  CommandTime* times_;
  int64_t* busy_;
  Ticks now_ = 0;
  size_t finished_ = 0;
  int fetching_ = -1;
  TimerTree timers_;
  std::vector<LaneState> lanes_;
  std::vector<int> touched_;
  std::vector<Handoff> handoffs_;
  std::vector<Ticks> ready_at_;
  LinkSharing sharing_;
  std::vector<DomainLoad> loads_;
  std::vector<char> domain_dirty_;
  bool any_domain_dirty_ = false;
};

}  // namespace lanescope
