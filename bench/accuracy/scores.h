// SPDX-License-Identifier: Apache-2.0
// The scoreboard of the predicted runs of many traces.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "study/predict/trace_accuracy.h"

namespace lanescope::accuracy {

// Runs of one network on one machine.
struct Experiment {
  std::string name;
  std::vector<study::RunAccuracy> runs;
};

// Prints, for runs that fit the cores and for oversubscribed ones, how far held-out predictions lie from what
// was measured; what each effect explains; and every run. Disturbed runs have a
// line of their own.
void PrintScores(const std::vector<Experiment>& experiments, std::FILE* out);

}  // namespace lanescope::accuracy
