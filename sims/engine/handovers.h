// SPDX-License-Identifier: Apache-2.0
// How the end of a command reaches what waits for it, at a moment of virtual time. Included by the
// simulator's loop alone. Internal to sims.
#pragma once

#include <algorithm>
#include <vector>

#include "core/time/ticks.h"
#include "core/time/timer_tree.h"
#include "sims/engine/domain_loads.h"
#include "sims/engine/front_end.h"
#include "sims/engine/handoff_heap.h"
#include "sims/engine/server_queues.h"
#include "sims/engine/server_state.h"
#include "sims/engine/simulation_plan.h"

namespace lanescope::sims {

// Owned and used by one loop, whose parts these are. kInterfere: whoever hands over wakes a driver on a core
// that others may want.
template <bool kInterfere>
class Handovers {
 public:
  Handovers(const SimulationPlan& plan, SimulationScratch* scratch, const std::vector<ServerState>& servers,
            const TimerTree& timers, const FrontEnds& front_ends, DomainLoads* domains, ServerQueues* queues)
      : plan_(plan),
        tasks_(scratch->tasks),
        ready_at_(scratch->ready_at),
        servers_(servers),
        timers_(timers),
        front_ends_(front_ends),
        domains_(*domains),
        queues_(*queues) {
    if (plan.any_handoff) ready_at_.assign(plan.tasks.size(), 0);
  }

  void MakeReady(CommandId command, Ticks now) {
    const Task& task = tasks_[command];
    queues_.MakeReady(command, task.queue, task.position, now);
  }

  // One dependency of the command at that place in the list of successors is satisfied by the end of one on
  // `queue`.
  void Release(int successor, QueueId queue, Ticks now) {
    const CommandId command = plan_.successors[successor];
    Task& task = tasks_[command];
    --task.pending;
    if (plan_.any_handoff) return HandOver(successor, command, queue, now);
    if (task.pending == 0) MakeReady(command, now);
  }

  // The time of the first that is on its way; kNever: nothing is.
  Ticks EarliestTime() const { return under_way_.EarliestTime(); }
  // It is there.
  void Arrive(Ticks now) {
    const HandoffHeap::Handoff handoff = under_way_.Pop();
    if (handoff.wakes) domains_.EndWaking(DomainOf(tasks_[handoff.command].queue));
    MakeReady(handoff.command, now);
  }

 private:
  const Server& ServerOf(QueueId queue) const {
    return plan_.servers[static_cast<size_t>(plan_.servers_of[queue].first)];
  }
  int DomainOf(QueueId queue) const { return ServerOf(queue).domain; }

  void HandOver(int successor, CommandId command, QueueId queue, Ticks now) {
    const Task& task = tasks_[command];
    Ticks at = now;
    if (!plan_.signals.empty() && plan_.signals[static_cast<size_t>(successor)] != 0) {
      at += plan_.signal;
    } else if (task.queue != queue) {
      at += TimeBetween(queue, task.queue);
    }
    Ticks& ready_at = ready_at_[command];
    ready_at = std::max(ready_at, at);
    if (task.pending > 0) return;
    bool wakes = false;
    if constexpr (kInterfere) {
      const int idle = task.queue != queue ? queues_.IdleServer(task.queue) : -1;
      wakes = idle >= 0;
      if (wakes) ready_at += domains_.RunQueueDelay(idle, servers_, timers_, now);
    }
    if (ready_at <= now) return MakeReady(command, now);
    if (wakes) domains_.BeginWaking(DomainOf(task.queue));
    under_way_.Push({ready_at, command, wakes});
  }

  // From a command of one queue to one of another.
  Ticks TimeBetween(QueueId from, QueueId to) const {
    const Server& giver = ServerOf(from);
    const QueueClass kind = ServerOf(to).kind;
    Ticks time = plan_.handoff[static_cast<size_t>(giver.kind)][static_cast<size_t>(kind)];
    if constexpr (kInterfere) {
      if (queues_.IdleServer(to) >= 0)
        time = static_cast<Ticks>(static_cast<double>(time) * domains_.WakingSlowdown(DomainOf(to)));
    }
    if (plan_.gpus > 0 && kind == QueueClass::kStream)
      time += static_cast<Ticks>(static_cast<double>(giver.gap) * front_ends_.HandingOver(from));
    return time;
  }

  const SimulationPlan& plan_;
  IdVector<CommandId, Task>& tasks_;
  IdVector<CommandId, Ticks>& ready_at_;  // where handing over takes time
  const std::vector<ServerState>& servers_;
  const TimerTree& timers_;
  const FrontEnds& front_ends_;
  DomainLoads& domains_;
  ServerQueues& queues_;
  HandoffHeap under_way_;
};

}  // namespace lanescope::sims
