// SPDX-License-Identifier: Apache-2.0
// How the runs of a trace would compare with faster and slower links between GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sims/predict/sweep.h"
#include "traces/read/trace_reader.h"

namespace lanescope::study {

// Sweeps the runs of one machine (the first run's), those with one schedule each, one for every graph and
// strategy; from a tenth of the slowest such link to ten times the fastest. Costs are those of the first
// measured run, else those that the first prediction kept. Empty where fewer than two such runs, no links
// between GPUs or no costs are there, and where their schedules are too large for a page that is made at
// once.
std::optional<sims::Sweep> SweepRuns(traces::TraceReader* reader);

}  // namespace lanescope::study
