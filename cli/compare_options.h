// What `compare` is asked for.
#pragma once

#include <string>
#include <vector>

#include "cli/workload.h"

namespace lanescope::cli {

struct CompareOptions {
  std::vector<std::string> graphs;
  std::vector<std::string> strategies;
  std::string trace, cost, sweep, plot, reference_step;
  MachineOptions machine;
  StepOptions step;
  PlaceOptions place;
  int steps = 10, rounds = 6, repeats = 3, warmup = 3;
  bool no_run = false, log = false, as_json = false;
};

}  // namespace lanescope::cli
