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

// Owned and used by one loop. A progress thread is a server, as is what a message runs on; it takes messages
// in the order in which they come to it.
class ProgressThreads {
 public:
  explicit ProgressThreads(const SimulationPlan& plan)
      : plan_(plan), waiting_(plan.servers.size() - static_cast<size_t>(plan.first_progress_thread)) {}

  bool Has(int server) const { return server >= plan_.first_progress_thread; }
  // Whether progress threads work on the command.
  bool Move(CommandId command) const {
    return !plan_.message_ends.empty() && plan_.message_ends[command].from >= 0;
  }
  int Sender(CommandId command) const { return plan_.message_ends[command].from; }
  int Receiver(CommandId command) const { return plan_.message_ends[command].to; }

  // For a command that takes so long alone: how long its progress threads work on it, half of that each at
  // most, and what is left in between.
  Ticks SendingTime(CommandId command, Ticks alone) const {
    return std::min(plan_.message_ends[command].sending, alone / 2);
  }
  Ticks ReceivingTime(CommandId command, Ticks alone) const {
    return std::min(plan_.message_ends[command].receiving, alone / 2);
  }
  Ticks TimeBetween(CommandId command, Ticks alone) const {
    return Move(command) ? alone - SendingTime(command, alone) - ReceivingTime(command, alone) : alone;
  }

  // The message comes to the progress thread. True: it is the only one there.
  bool Join(int progress_thread, int message) {
    Waiting(progress_thread).push_back(message);
    return Waiting(progress_thread).size() == 1;
  }
  // The one that the progress thread works on; -1: none.
  int At(int progress_thread) const {
    const std::deque<int>& waiting =
        waiting_[static_cast<size_t>(progress_thread - plan_.first_progress_thread)];
    return waiting.empty() ? -1 : waiting.front();
  }
  void Leave(int progress_thread) { Waiting(progress_thread).pop_front(); }

 private:
  std::deque<int>& Waiting(int progress_thread) {
    return waiting_[static_cast<size_t>(progress_thread - plan_.first_progress_thread)];
  }

  const SimulationPlan& plan_;
  std::vector<std::deque<int>> waiting_;  // by progress thread
};

}  // namespace lanescope::sims
