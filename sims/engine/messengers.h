// SPDX-License-Identifier: Apache-2.0
// The threads that move the messages of tasks, one for each task, and the messages that wait for them.
// Included by the simulator's loop alone. Internal to sims.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "core/time/ticks.h"
#include "sims/engine/simulation_plan.h"

namespace lanescope::sims {

// Owned and used by one loop. A messenger is a server, as is what a message runs on; it takes messages in the
// order in which they come to it.
class Messengers {
 public:
  explicit Messengers(const SimulationPlan& plan)
      : plan_(plan), waiting_(plan.servers.size() - static_cast<size_t>(plan.first_messenger)) {}

  bool Has(int server) const { return server >= plan_.first_messenger; }
  // Whether messengers work on the command.
  bool Move(CommandId command) const {
    return !plan_.message_ends.empty() && plan_.message_ends[command].from >= 0;
  }
  int Sender(CommandId command) const { return plan_.message_ends[command].from; }
  int Receiver(CommandId command) const { return plan_.message_ends[command].to; }

  // Of a command that takes so long alone: how long its messengers work on it, half of that each at most, and
  // what is left in between.
  Ticks SendingTime(CommandId command, Ticks alone) const {
    return std::min(plan_.message_ends[command].sending, alone / 2);
  }
  Ticks ReceivingTime(CommandId command, Ticks alone) const {
    return std::min(plan_.message_ends[command].receiving, alone / 2);
  }
  Ticks TimeBetween(CommandId command, Ticks alone) const {
    return Move(command) ? alone - SendingTime(command, alone) - ReceivingTime(command, alone) : alone;
  }

  // The message comes to the messenger. True: it is the only one there.
  bool Join(int messenger, int message) {
    Waiting(messenger).push_back(message);
    return Waiting(messenger).size() == 1;
  }
  // The one that the messenger works on; -1: none.
  int At(int messenger) const {
    const std::deque<int>& waiting = waiting_[static_cast<size_t>(messenger - plan_.first_messenger)];
    return waiting.empty() ? -1 : waiting.front();
  }
  void Leave(int messenger) { Waiting(messenger).pop_front(); }

 private:
  std::deque<int>& Waiting(int messenger) {
    return waiting_[static_cast<size_t>(messenger - plan_.first_messenger)];
  }

  const SimulationPlan& plan_;
  std::vector<std::deque<int>> waiting_;  // by messenger
};

}  // namespace lanescope::sims
