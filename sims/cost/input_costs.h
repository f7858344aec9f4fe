// SPDX-License-Identifier: Apache-2.0
// The cost of the threads that fill a run's queues, and what they take from its steps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "core/record/event.h"
#include "core/record/input_record.h"
#include "core/schedule/schedule.h"

namespace lanescope::sims {

// Linux lets a thread run that long before another one gets its core: a step that is shorter either runs
// through beside others, or stands still as a whole while launches have the cores.
inline constexpr double kSliceNs = 3e6;

// A thread's step, alone on a core.
struct InputCost {
  std::string op;            // the node that it runs
  int64_t ns = 0;            // without waiting
  int64_t exclusive_ns = 0;  // of it: with the turn at a reader
  int64_t count = 0;         // steps measured
  // Some of them, in the order in which a thread did them: how they vary around `ns`, and which kind follows
  // which. Empty: all take the same.
  std::vector<int64_t> times = {};
  // From one step's end to the next one's, of whichever thread, where several worked and none lacked a core;
  // and how many such ends there were. 0: none.
  int64_t together_ns = 0, together_count = 0;

  // The part of a step that only one thread at a time does, by how little several are faster than one.
  int64_t SerialNs() const;
};

struct InputCosts {
  int cores = 0;  // that were there
  std::vector<InputCost> threads;

  bool empty() const { return threads.empty(); }
  const InputCost* Find(const std::string& op) const;
};

// A measured run, and what was there. Refers to what it is made of.
struct InputRun {
  const InputRecord& input;
  std::span<const Event> events;  // of its steps
  int cores = 0;
  std::function<bool(CommandId)> takes_core;
  std::function<std::string(int node)> op_of_node;  // "ReaderReadV2"
};

// Whether the command is a launch on a device that is threads of the host.
bool TakesCore(const Schedule& schedule, const Machine& machine, CommandId command);

// Work that wanted more cores than there were counts as what it would have taken alone.
InputCosts FitInput(const InputRun& run);

// Adds what another run of the same machine cost: means weigh as many steps as they are of.
void AddInputCosts(const InputCosts& from, InputCosts* to);

// The events as if there had been no threads that fill queues: a step is shorter by the time in which it
// waited and nothing of it ran, and by what the threads took of its cores; what came later comes earlier.
std::vector<Event> WithoutInput(const InputRun& run);

}  // namespace lanescope::sims
