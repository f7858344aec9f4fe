// The critical path of one step and the slack of everything beside it, from the times that were recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/run_data.h"

namespace lanescope::gui {

// One piece of work of a step.
struct StepWork {
  int command = -1;
  int lane = -1;
  uint32_t slice = kNoSlice;
  int64_t start_ns = 0, end_ns = 0;  // of the run's clock
  // How much later it could have ended without making the step longer, everything else taking as long as it
  // did. 0 on the critical path.
  int64_t slack_ns = 0;
  bool critical = false;
};

// Of one step. launch + copy + waiting = step.
struct StepPath {
  int step = -1;               // number; -1: not known
  std::string problem;         // why there is no path: "the trace has no dependencies"; empty: there is one
  std::vector<StepWork> work;  // by start
  std::vector<int> path;       // indexes into work, first to last
  int64_t step_ns = 0;
  int64_t launch_ns = 0, copy_ns = 0;  // on the path
  int64_t waiting_ns = 0;              // gaps on the path, the step's beginning and end
};

// `step`: index into run.steps; -1: the median one. Every work's start is explained by what ended last among
// its dependencies and the work before it in its lane; the time between is a fixed hand-over. The path goes
// back from the work that ends last (ties: the dependency, then the smaller command). Slack is the largest
// delay of the end that moves no successor's start later than it may be. O(work + dependencies).
StepPath FindStepPath(const RunData& run, int step = -1);

}  // namespace lanescope::gui
