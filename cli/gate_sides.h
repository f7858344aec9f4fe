// SPDX-License-Identifier: Apache-2.0
// The sides of a gate as they are named on the command line: traces, and baselines of a store.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/run_pair.h"
#include "study/gate/command_rounds.h"

namespace lanescope::cli {

struct TraceSide {
  std::string name;
  std::vector<study::RunSample> runs;
  std::vector<ProfiledRun> profiles;     // of the same runs; empty: of a store
  std::vector<RunReference> references;  // where these lie
};

// FILE:RUN, or all measured runs of FILE. Throws FailedPrecondition for predictions, and for runs of several
// graphs or strategies.
TraceSide ReadTraceSide(const std::string& text, std::span<const study::Quantity> quantities);
// The run of a trace that a command has just written. Throws FailedPrecondition for several.
RunReference OnlyRunOf(const std::string& trace);
study::MeasuredRun ReadOnlyRun(const std::string& trace, std::span<const study::Quantity> quantities);

}  // namespace lanescope::cli
