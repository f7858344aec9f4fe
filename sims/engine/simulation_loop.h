// SPDX-License-Identifier: Apache-2.0
// The simulator's event loop. Included by simulator.cpp alone. Internal to sims.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/time/fair_share.h"
#include "core/time/ticks.h"
#include "core/time/timer_tree.h"
#include "sims/engine/domain_loads.h"
#include "sims/engine/front_end.h"
#include "sims/engine/handovers.h"
#include "sims/engine/prefetches.h"
#include "sims/engine/progress_threads.h"
#include "sims/engine/server_queues.h"
#include "sims/engine/server_state.h"
#include "sims/engine/simulation_plan.h"
#include "sims/engine/simulator.h"

namespace lanescope::sims {

// One run. kShared: copies share links. kInterfere: commands slow each other down.
template <bool kShared, bool kInterfere>
class SimulationLoop {
 public:
  SimulationLoop(const SimulationPlan& plan, SimulationScratch* scratch, const CommandCosts& costs,
                 SimulationResult* result)
      : plan_(plan),
        tasks_(scratch->tasks),
        times_(result->times),
        busy_(result->queue_busy_ns),
        timers_(plan.servers.size()),
        servers_(plan.servers.size()),
        sharing_(kShared ? plan.links.capacities() : std::vector<double>{},
                 static_cast<int>(plan.servers.size()), plan.links.max_hops()),
        domains_(plan, costs),
        front_ends_(plan),
        progress_threads_(plan),
        queues_(plan, scratch, &servers_, &timers_),
        prefetches_(plan, *scratch, result->times),
        handovers_(plan, scratch, servers_, timers_, front_ends_, &domains_, &queues_) {}

  // Returns the time of the last end.
  Ticks Run() {
    ReleaseRoots();
    constexpr unsigned kTurns = 256;  // between two looks at the clock
    const size_t total = plan_.tasks.size();
    for (unsigned turn = 0; true; ++turn) {
      if (turn % kTurns == 0) StopPoint();
      queues_.Dispatch([this](QueueId queue) { prefetches_.BeforeStart(queue); },
                       [this](int server, CommandId command) { Start(server, command); });
      if constexpr (kShared || kInterfere) Settle();
      if (finished_ == total) return now_;
      Advance();
    }
  }

 private:
  static constexpr int kFinished = -1;  // of Task::pending
  using Phase = ServerState::Phase;
  Task& task(CommandId command) { return tasks_[command]; }
  ServerState& state(int server) { return servers_[static_cast<size_t>(server)]; }
  const Server& server(int number) const { return plan_.servers[static_cast<size_t>(number)]; }
  bool IsSync(CommandId command) const { return !plan_.sync.empty() && plan_.sync[command]; }

  void ReleaseRoots() {
    now_ = plan_.step_start;
    queues_.FallAsleep();
    for (const CommandId c : tasks_.ids()) {
      if (task(c).pending == 0) handovers_.MakeReady(c, now_);
    }
  }

  // Moves to the next instant and lets everything happen that is due.
  void Advance() {
    Ticks next = timers_.EarliestTime();
    next = std::min(next, handovers_.EarliestTime());
    if (next == kNever) ThrowStuck();
    if (next > kMaxTicks) {
      Throw(Code::kOutOfRange, "virtual time exceeds 26 days; check the costs, gaps and link bandwidths");
    }
    now_ = next;
    while (timers_.EarliestTime() == now_) Expire(timers_.Earliest());
    while (handovers_.EarliestTime() == now_) handovers_.Arrive(now_);
  }

  [[noreturn]] void ThrowStuck() const {
    CommandId first{0};
    while (tasks_[first].pending == kFinished) ++first;
    Throw(Code::kFailedPrecondition,
          "{} of {} commands can never start: they wait for each other, the first is command {}; check the "
          "schedule's order",
          plan_.tasks.size() - finished_, plan_.tasks.size(), first.number());
  }

  void Start(int number, CommandId command) {
    ServerState& at = state(number);
    Ticks start = now_;
    if (!IsSync(command)) {
      start = std::max(start, at.free_at);
      if (plan_.gpus > 0)
        start = std::max(start, front_ends_.Begin(server(number), at.free_at, now_, &task(command).duration));
    }
    times_[command].start_ns = NsOf(start);
    at.running = command.number();
    at.started = start;
    prefetches_.AfterStart(command);
    if (!progress_threads_.Move(command)) return Begin(number, command, start);
    at.phase = Phase::kPosting;
    start > now_ ? timers_.Set(number, start) : Send(number);
  }

  void Send(int message) {
    state(message).phase = Phase::kSending;
    const int progress_thread = progress_threads_.Sender(CommandId(state(message).running));
    if (progress_threads_.Join(progress_thread, message)) WorkOnMessage(progress_thread);
  }
  void Receive(int message) {
    state(message).phase = Phase::kReceiving;
    const int progress_thread = progress_threads_.Receiver(CommandId(state(message).running));
    if (progress_threads_.Join(progress_thread, message)) WorkOnMessage(progress_thread);
  }
  void WorkOnMessage(int progress_thread) {
    const ServerState& message = state(progress_threads_.At(progress_thread));
    const CommandId command(message.running);
    const Ticks alone = task(command).duration;
    Work(progress_thread, message.phase == Phase::kSending ? progress_threads_.SendingTime(command, alone)
                                                           : progress_threads_.ReceivingTime(command, alone));
    if constexpr (kInterfere) domains_.EnterProgressThread(server(progress_thread), &state(progress_thread));
  }
  void EndWorkOnMessage(int progress_thread) {
    if constexpr (kInterfere) domains_.Leave(server(progress_thread), &state(progress_thread));
    const int message = progress_threads_.At(progress_thread);
    progress_threads_.Leave(progress_thread);
    state(message).phase == Phase::kSending ? Begin(message, CommandId(state(message).running), now_)
                                            : Finish(message);
    if (progress_threads_.At(progress_thread) >= 0) WorkOnMessage(progress_thread);
  }

  void Begin(int number, CommandId command, Ticks start) {
    ServerState& at = state(number);
    const Ticks duration = progress_threads_.TimeBetween(command, task(command).duration);
    at.phase = Phase::kFixed;
    Ticks moves_at = start;
    bool flows = false;
    if constexpr (kShared) {
      const int number_of_path = plan_.path_of[command];
      if (number_of_path != LinkPaths::kNone) {
        const LinkPath& path = plan_.links.path(number_of_path);
        flows = Flows(path, plan_.bytes[command], duration);
        if (flows) moves_at = start + path.latency;
      }
    }
    bool interferes = false;
    if constexpr (kInterfere) interferes = server(number).domain >= 0;
    if (duration == 0 || (!flows && !interferes)) {
      timers_.Set(number, start + duration);
    } else if (moves_at > now_) {
      at.phase = Phase::kWaiting;
      timers_.Set(number, moves_at);
    } else {
      BeginMoving(number);
    }
  }

  // The running command starts to use links or silicon that others use too.
  void BeginMoving(int number) {
    ServerState& at = state(number);
    const CommandId command(at.running);
    const Ticks duration = progress_threads_.TimeBetween(command, task(command).duration);
    bool flows = false;
    if constexpr (kShared) {
      const int path = plan_.path_of[command];
      flows = path != LinkPaths::kNone && Flows(plan_.links.path(path), plan_.bytes[command], duration);
      if (flows) BeginFlow(number, plan_.bytes[command], duration, plan_.links.path(path));
    }
    if (!flows) Work(number, duration);
    if constexpr (kInterfere) domains_.Enter(server(number), command, &at);
  }

  void Work(int number, Ticks duration) {
    ServerState& at = state(number);
    at.phase = Phase::kWorking;
    at.remaining = static_cast<double>(duration);
    at.slowdown = 1;
    at.updated = now_;
    timers_.Set(number, now_ + duration);
  }

  void BeginFlow(int number, int64_t bytes, Ticks duration, const LinkPath& path) {
    state(number).phase = Phase::kFlowing;
    const CopyFlow flow = FlowAlone(path, bytes, duration);
    sharing_.Start(number, now_, plan_.links.resources(path), flow.bytes, flow.limit);
  }

  void Expire(int number) {
    ServerState& at = state(number);
    timers_.Set(number, kNever);
    if (progress_threads_.Has(number)) return EndWorkOnMessage(number);
    if (at.phase == Phase::kPosting) return Send(number);
    if (at.phase == Phase::kWaiting) return BeginMoving(number);
    if (at.phase == Phase::kWaking) return queues_.Awake(number);
    if constexpr (kShared) {
      if (at.phase == Phase::kFlowing) sharing_.End(number);
    }
    if constexpr (kInterfere) {
      const bool copied = at.active && at.load_class == WorkClass::kCopy;
      domains_.Leave(server(number), &at);
      if (copied && WaitForCore(number)) return;
    }
    progress_threads_.Move(CommandId(at.running)) ? Receive(number) : Finish(number);
  }

  // A paced copy sleeps until its bytes would have arrived: its driver is woken once more to say so.
  bool WaitForCore(int number) {
    const Ticks wait = domains_.RunQueueDelay(number, servers_, timers_, now_);
    if (wait <= 0) return false;
    state(number).phase = Phase::kFixed;
    timers_.Set(number, now_ + wait);
    return true;
  }

  void Finish(int number) {
    ServerState& at = state(number);
    const CommandId command(at.running);
    const int64_t end_ns = NsOf(now_);
    times_[command].end_ns = end_ns;
    const QueueId queue = server(number).queue;
    busy_[queue] += end_ns - NsOf(at.started);
    at.running = ServerState::kIdle;
    queues_.Finish(number, command);
    // A launch of a stream that makes no kernel does not take the stream's time.
    const bool silent = task(command).duration == 0 && server(number).kind == QueueClass::kStream;
    if (!IsSync(command) && !silent) at.free_at = now_ + server(number).gap;
    if (plan_.gpus > 0) front_ends_.End(queue, command, !IsSync(command));
    ++finished_;
    Task& t = task(command);
    t.pending = kFinished;
    for (int i = t.first_successor; i < t.end_successor; ++i) handovers_.Release(i, queue, now_);
  }

  // Rates after all that changed at this instant.
  void Settle() {
    if constexpr (kInterfere)
      domains_.Settle(servers_, [this](int number, double by) { SlowDown(number, by); });
    if constexpr (kShared) {
      if (sharing_.dirty()) {
        for (const int number : sharing_.Solve(now_)) timers_.Change(number, sharing_.finish(number));
      }
    }
    timers_.Apply();
  }

  void SlowDown(int number, double slowdown) {
    ServerState& at = state(number);
    if (at.phase == Phase::kFlowing) {
      sharing_.SetSlowdown(number, slowdown);
    } else if (slowdown != at.slowdown) {
      at.remaining -= static_cast<double>(now_ - at.updated) / at.slowdown;
      at.remaining = std::max(at.remaining, 0.0);
      at.updated = now_;
      at.slowdown = slowdown;
      const double wait = std::min(at.remaining * slowdown, static_cast<double>(kMaxTicks));
      timers_.Change(number, now_ + static_cast<Ticks>(wait + 0.5));
    }
  }

  const SimulationPlan& plan_;
  IdVector<CommandId, Task>& tasks_;
  IdVector<CommandId, CommandTime>& times_;
  IdVector<QueueId, int64_t>& busy_;
  Ticks now_ = 0;
  size_t finished_ = 0;
  TimerTree timers_;
  std::vector<ServerState> servers_;
  FairShare sharing_;
  DomainLoads domains_;
  FrontEnds front_ends_;
  ProgressThreads progress_threads_;
  ServerQueues queues_;
  Prefetches prefetches_;
  Handovers<kInterfere> handovers_;
};

}  // namespace lanescope::sims
