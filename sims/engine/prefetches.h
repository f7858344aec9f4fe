// SPDX-License-Identifier: Apache-2.0
// Brings into the processor's cache what a simulation will probably touch next, while it does other things.
// Included by the simulator's loop alone. Internal to sims.
#pragma once

#include "sims/engine/simulation_plan.h"
#include "sims/engine/simulator.h"

namespace lanescope::sims {

// Changes nothing that the loop reads. (A function that only prefetched would be dropped by the compiler: it
// has no effect.)
class Prefetches {
 public:
  Prefetches(const SimulationPlan& plan, const SimulationScratch& scratch,
             const IdVector<CommandId, CommandTime>& times)
      : plan_(plan), tasks_(scratch.tasks), ahead_(scratch.ahead), times_(times) {}

  // A command of the queue is about to start. What comes after the last one of another queue is fetched now.
  void BeforeStart(QueueId queue) {
    const CommandId next = looking_.exists() ? ahead_[looking_] : CommandId();
    if (next.exists()) {
      __builtin_prefetch(&tasks_[next], 1);
      __builtin_prefetch(&times_[next], 1);
    }
    looking_ = queue;
  }

  // A command has started. What its end will touch is fetched: its successors now, their tasks at the next
  // start.
  void AfterStart(CommandId command) {
    __builtin_prefetch(plan_.successors + tasks_[command].first_successor);
    if (started_.exists()) {
      const Task& task = tasks_[started_];
      for (int i = task.first_successor; i < task.end_successor; ++i)
        __builtin_prefetch(&tasks_[plan_.successors[i]], 1);
    }
    started_ = command;
  }

 private:
  const SimulationPlan& plan_;
  const IdVector<CommandId, Task>& tasks_;
  const IdVector<QueueId, CommandId>& ahead_;
  const IdVector<CommandId, CommandTime>& times_;
  CommandId started_;
  QueueId looking_;
};

}  // namespace lanescope::sims
