// SPDX-License-Identifier: Apache-2.0
// Steps of the threads that fill queues, and the cores that they had. Internal to sims.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/time/intervals.h"
#include "sims/cost/input_costs.h"
#include "sims/cost/shared_cores.h"

namespace lanescope::sims {

// A thread works from its first step to its last, but where it waits. What it does while no step of the run
// is recorded counts only where there is nothing else.
struct ThreadWork {
  std::string op;
  int64_t steps = 0;
  int64_t turns = 0, exclusive_ns = 0;
  std::vector<Interval> working;
  std::vector<int64_t> ends;  // of the steps that count, in order
};
std::vector<ThreadWork> WorkOfThreads(const InputRun& run);

// A thread's step: its work between two ends.
struct StepWork {
  double took = 0, shared = 0;  // as it was, and what of it counts where cores are shared evenly
  bool crowded = false;
};

// The threads that run one op.
struct OpThreads {
  std::string op;
  std::vector<const ThreadWork*> works;
  std::vector<std::vector<StepWork>> steps;  // by thread
  double usual = 0;                          // what a step takes that nothing crowds, as far as is known
  bool knows_alone = false;                  // enough steps were not crowded
  // A crowded one either has a core or stands still as a whole.
  bool is_short() const { return usual < kSliceNs; }
};
std::vector<OpThreads> ByOp(std::span<const ThreadWork> threads, const SharedCores& cores);

// When they waited; sorted.
std::vector<Interval> WaitsOf(std::span<const InputWait> waits, int thread);
// All that ran, on the cores that there were.
SharedCores CoresOf(std::span<const ThreadWork> threads, const InputRun& run);
// Threads with which the steps of a run shared their cores: those with short steps have what launches leave.
SharedCores CoresOfSteps(std::span<const ThreadWork> threads, const InputRun& run);

}  // namespace lanescope::sims
