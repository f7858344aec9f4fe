// SPDX-License-Identifier: Apache-2.0
// Results of core's analyses for a run of the timeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/runs/step_path.h"
#include "gui/model/run_data.h"

namespace lanescope::gui {

// `run` must outlive the view. RunView::Lane::source is the lane's index in the run.
RunView ViewOf(const RunData& run);

// The path of one step, and how much room everything beside it had. Lanes of the items are those of the run.
struct ShownPath {
  int step = -1;        // number; -1: there is none
  std::string problem;  // why there is no path; empty: there is one
  int64_t begin_ns = 0, step_ns = 0;
  StepPath path;
  std::vector<int> on_path;       // indexes into path.items, first to last
  std::vector<char> critical;     // by item: whether it is on the path
  std::vector<int64_t> slack_ns;  // by item; empty where the trace does not say what waits for what
};

// `step`: index into run.steps; -1: the median one, or where there are no steps the whole run.
ShownPath FindShownPath(const RunData& run, int step = -1);

// More pieces of work than this in one step are not taken apart.
inline constexpr size_t kMaxStepItems = 1'000'000;

}  // namespace lanescope::gui
