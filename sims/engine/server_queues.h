// SPDX-License-Identifier: Apache-2.0
// Ready commands in front of the servers of their queues, at a moment of virtual time. Included by the
// simulator's loop alone. Internal to sims.
#pragma once

#include <vector>

#include "core/time/timer_tree.h"
#include "sims/engine/server_state.h"
#include "sims/engine/simulation_plan.h"

namespace lanescope::sims {

// Owned and used by one loop, whose servers and timers these are. What every command passes is part of that
// loop, whatever the compiler thinks of its length: calls take 2% of a run.
class ServerQueues {
 public:
  ServerQueues(const SimulationPlan& plan, SimulationScratch* scratch, std::vector<ServerState>* servers,
               TimerTree* timers)
      : plan_(plan),
        ready_(scratch->ready),
        servers_(*servers),
        timers_(*timers),
        is_touched_(plan.servers_of.size(), 0) {
    touched_.reserve(is_touched_.size());
  }

  // Drivers that have to be woken sleep when a step begins.
  void FallAsleep() {
    for (size_t l = 0; l < servers_.size(); ++l) {
      if (plan_.servers[l].wake == 0) continue;
      servers_[l].running = ServerState::kAsleep;
      ++asleep_;
    }
  }
  void Awake(int number) {
    ServerState& at = servers_[static_cast<size_t>(number)];
    at.phase = ServerState::Phase::kFixed;
    at.running = ServerState::kIdle;
    Touch(QueueOf(number));
  }

  void MakeReady(CommandId command, QueueId queue, int position, Ticks now) {
    ready_[queue].Push(position, command);
    if (IdleServer(queue) >= 0) {
      Touch(queue);
    } else if (asleep_ > 0) {
      WakeServer(queue, now);
    }
  }
  // The server has finished the command and is idle.
  [[gnu::always_inline]] void Finish(int number, CommandId command) {
    ready_[QueueOf(number)].Done(command);
    Touch(QueueOf(number));
  }

  // The idle server of a queue that is free first; -1: none is idle.
  [[gnu::always_inline]] int IdleServer(QueueId queue) const {
    int idle = -1;
    const auto [first, end] = plan_.servers_of[queue];
    for (int l = first; l < end; ++l) {
      const ServerState& at = servers_[static_cast<size_t>(l)];
      if (at.running < 0 && (idle < 0 || at.free_at < servers_[static_cast<size_t>(idle)].free_at)) idle = l;
    }
    return idle;
  }

  // start(server, command) for what idle servers take now of queues that have changed; `before` is called
  // before each with the queue.
  template <typename Before, typename Start>
  void Dispatch(const Before& before, const Start& start) {
    for (size_t i = 0; i < touched_.size(); ++i) {
      const QueueId queue = touched_[i];
      is_touched_[queue] = 0;
      while (true) {
        const int idle = IdleServer(queue);
        const CommandId command = idle >= 0 ? ready_[queue].Pop() : CommandId();
        if (!command.exists()) break;
        before(queue);
        start(idle, command);
      }
    }
    touched_.clear();
  }

 private:
  QueueId QueueOf(int server) const { return plan_.servers[static_cast<size_t>(server)].queue; }

  void Touch(QueueId queue) {
    char& touched = is_touched_[queue];
    if (touched != 0) return;
    touched = 1;
    touched_.push_back(queue);
  }

  // A ready command wakes one driver of its queue that still sleeps.
  void WakeServer(QueueId queue, Ticks now) {
    const auto [first, end] = plan_.servers_of[queue];
    for (int l = first; l < end; ++l) {
      ServerState& at = servers_[static_cast<size_t>(l)];
      if (at.running != ServerState::kAsleep || at.phase == ServerState::Phase::kWaking) continue;
      --asleep_;
      at.phase = ServerState::Phase::kWaking;
      timers_.Set(l, now + plan_.servers[static_cast<size_t>(l)].wake);
      return;
    }
  }

  const SimulationPlan& plan_;
  IdVector<QueueId, BasicReadyQueue<ReadyAhead>>& ready_;
  std::vector<ServerState>& servers_;
  TimerTree& timers_;
  int asleep_ = 0;  // servers whose driver nothing has woken yet
  std::vector<QueueId> touched_;
  IdVector<QueueId, char> is_touched_;
};

}  // namespace lanescope::sims
