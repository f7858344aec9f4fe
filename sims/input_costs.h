// What the threads that fill a run's queues cost, and what they take from its steps.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/record/event.h"
#include "core/record/input_record.h"

namespace lanescope::sims {

// Of a thread's step, alone on a core.
struct InputCost {
  std::string op;            // the node that it runs
  int64_t ns = 0;            // without waiting
  int64_t exclusive_ns = 0;  // of it: with the turn at a reader
  int64_t count = 0;         // steps measured
};

struct InputCosts {
  int cores = 0;           // that were there
  double step_factor = 1;  // what a step of the run takes alone, of what it took beside the threads
  std::vector<InputCost> threads;

  bool empty() const { return threads.empty(); }
  const InputCost* Find(const std::string& op) const;
};

// From a measured run: `events` are those of its steps, `op_of_node` names the op type of a node. Work that
// wanted more cores than there were counts as what it would have taken alone.
InputCosts FitInput(const InputRecord& input, std::span<const Event> events, int cores,
                    const std::function<std::string(int node)>& op_of_node);

// The events as if nobody had waited: a step is shorter by the time in which it waited and nothing of it ran,
// and what came later comes earlier.
std::vector<Event> WithoutWaits(std::span<const Event> events, std::span<const InputWait> waits);

}  // namespace lanescope::sims
