// SPDX-License-Identifier: Apache-2.0
// A what-if of a trace without a graph, with something in it changed: its replay, and the knobs it offers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/run_data.h"
#include "traces/replay/what_if.h"
#include "traces/replay/what_if_knobs.h"

namespace lanescope::gui {

// Whether a run can be replayed: measured, in a file, and of no graph of ours.
bool IsReplayable(const RunData& run);

// Whether a run is of a graph of ours, whose ops can be placed elsewhere.
bool HasPlacement(const RunData& run);

// Prepared once for the run that is changed. Immutable once shared.
struct ReplayBase {
  std::shared_ptr<const RunData> run;
  traces::ReplayGraph graph;
  std::vector<traces::WhatIfKnob> knobs;
  traces::WhatIf unchanged;
};

// Throws what ReadReplayGraph throws.
std::shared_ptr<const ReplayBase> PrepareReplay(const std::shared_ptr<const RunData>& run,
                                                const std::atomic<bool>& cancelled);

// A knob and where it stands.
struct ReplaySetting {
  double value = 0;    // kChoice: not used
  std::string choice;  // kChoice; empty: as it was
  friend bool operator==(const ReplaySetting&, const ReplaySetting&) = default;
};

// As `--set` of `lanescope simulate` takes them, without those that change nothing.
std::vector<std::string> ChangesOf(const std::vector<traces::WhatIfKnob>& knobs,
                                   const std::vector<ReplaySetting>& settings);

struct ReplayRequest {
  std::shared_ptr<const ReplayBase> base;
  std::vector<std::string> changes;
  uint64_t number = 0;
};
struct ReplayResult {
  traces::WhatIf what_if;
  std::shared_ptr<const RunData> run;  // the replay with the changes
  uint64_t number = 0;
};
// Throws what FindWhatIf throws, and Cancelled.
ReplayResult SimulateReplay(const ReplayRequest& request, const std::atomic<bool>& cancelled);

// The tasks of a replay in lanes: streams, and threads with their calls. `title`: of the run.
std::shared_ptr<const RunData> RunOfReplay(const ReplayBase& base, const std::vector<std::string>& changes,
                                           const traces::WhatIf& what_if);

}  // namespace lanescope::gui
