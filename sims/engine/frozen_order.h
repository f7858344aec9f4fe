// SPDX-License-Identifier: Apache-2.0
// The step time of other costs without simulating again: commands in the order that a simulation gave them.
// Internal to sims.
#pragma once

#include <optional>
#include <vector>

#include "sims/engine/simulation_plan.h"
#include "sims/engine/simulator.h"

namespace lanescope::sims {

// With the order of every queue fixed, a step is a graph: commands wait for their dependencies and for those
// before them in their queue, and the step time is its longest way, found in one pass. That is what the
// simulator says if it would choose the same order and no copies share a link, which is checked after the
// pass: in-order queues have no choice; of a ready-first queue each command must have been first among those
// that were ready when it was picked. Where the check is not sure there is no answer. Refers to the plan and
// the commands. Not thread-safe.
class FrozenOrder {
 public:
  // `times` are of a run of the plan.
  FrozenOrder(const SimulationPlan& plan, const IdVector<CommandId, Command>& commands,
              const IdVector<CommandId, CommandTime>& times);

  // False: queues have drivers that sleep, or commands interfere: then there never is an answer.
  static bool Applies(const SimulationPlan& plan);
  // The time of the last end with these costs, which have been checked, or none.
  std::optional<Ticks> LastEnd(const CommandCosts& costs);

 private:
  struct Before {
    int place = 0;    // in the order of the pass
    Ticks delay = 0;  // handing over
  };
  // A command and what it waits for.
  struct Step {
    CommandId command;
    QueueId queue;
    int end_before = 0;  // into before_; the first is the end of the step before this one
    int path = LinkPaths::kNone;
    int workers = 1;
    bool sync = false;
  };
  // When it could start, was picked by its queue, started to move bytes if it does, and ended; and when its
  // queue had picked the one before it and was free again, if it has one server.
  struct Times {
    Ticks ready = 0, before = 0, picked = 0, moves = 0, end = 0;
    bool flows = false;
  };
  // Times of the last command.
  struct ServerTimes {
    Ticks start = -1, end = 0, free_at = 0;
    int workers = 0;
  };

  IdVector<QueueId, std::vector<CommandId>> QueueOrders(const IdVector<CommandId, CommandTime>& times) const;
  void OrderSteps(const IdVector<CommandId, Command>& commands,
                  const IdVector<CommandId, CommandTime>& times);
  void ListQueues();
  void ListLinks(const IdVector<CommandId, CommandTime>& times);
  bool Pass(const CommandCosts& costs);
  size_t Pick(const Step& step, Times* times);
  bool KeepsOrder(const std::vector<int>& places) const;
  bool IsFirst(const std::vector<int>& places, size_t at) const;
  bool SharesLink(const std::vector<int>& places) const;
  int PositionOf(int place) const { return plan_.tasks[steps_[IndexOf(place)].command].position; }

  const SimulationPlan& plan_;
  std::vector<Step> steps_;
  std::vector<Before> before_;
  std::vector<std::vector<int>> queues_;  // ready-first ones: places in the order in which they ran
  std::vector<std::vector<int>> links_;   // by resource: places of copies
  std::vector<Times> times_;              // by place
  std::vector<ServerTimes> servers_;
  IdVector<QueueId, Ticks> last_pick_;  // of queues with several servers
  bool sure_ = true;                    // so far, in a pass
  bool any_zero_ = false;               // a command that takes no time: its instant has several rounds
};

}  // namespace lanescope::sims
