// SPDX-License-Identifier: Apache-2.0
// Where lanes and rows stand, in pixels from the top.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "gui/model/timeline_data.h"

namespace lanescope::gui {

// Sizes in pixels; multiply by the scale of a high-DPI display.
struct LayoutMetrics {
  float run_header = 26;
  float row = 18;       // a row of slices
  float copy_row = 14;  // of copy lanes and links
  float counter = 34;
  float lane_gap = 3;
  float run_gap = 10;
  float group_header = 18;
  int max_rows = 32;  // of one lane; deeper rows are not shown
};

// A lane by run and index.
using LaneId = std::pair<RunKey, int>;

// The part of the runs that is shown. Plain view state, owned by the UI.
struct LaneVisibility {
  std::set<RunKey> collapsed;  // only the header
  std::set<RunKey> hidden_runs;
  std::set<std::pair<RunKey, int>> folded;  // groups of lanes: only their header
  std::set<LaneId> hidden_lanes;
  std::vector<LaneId> pinned;  // in the order of the pinned strip; still shown in place too
  bool show_empty_lanes = false;
  bool show_links = true, show_copies = true, show_memory = true, show_host = true;
  void TogglePin(LaneId lane);
  bool IsPinned(LaneId lane) const;
};

struct LaidLane {
  int run = 0;  // position in timeline.runs()
  RunKey key = 0;
  int lane = 0;
  float top = 0, bottom = 0;
  float row_height = 0;
  int rows = 1;  // shown; row r of slices lies at [top + r * row_height, top + (r + 1) * row_height)
};

// The header above the lanes of a group.
struct LaidGroup {
  int run = 0;
  RunKey key = 0;
  int group = 0;  // index into RunData::groups
  float top = 0, bottom = 0;
  int depth = 0;  // groups around it
  bool folded = false;
  int lanes = 0;  // that it would show
};

struct LaidRun {
  int run = 0;
  RunKey key = 0;
  float top = 0, header_bottom = 0, bottom = 0;
  bool collapsed = false;
  size_t first_lane = 0, num_lanes = 0;  // in Layout::lanes
};

// Pinned lanes lie in a strip of their own, whose y counts from its own top. Value type.
struct Layout {
  std::vector<LaidRun> runs;
  std::vector<LaidLane> lanes;    // top to bottom
  std::vector<LaidLane> pinned;   // top to bottom
  std::vector<LaidGroup> groups;  // top to bottom
  float height = 0;
  float pinned_height = 0;

  // The lane at height y; null between lanes.
  const LaidLane* LaneAt(float y, bool in_pinned) const;
  // The run whose header or lanes are at y; null: none.
  const LaidRun* RunAt(float y) const;
  // The group whose header is at y; null: none.
  const LaidGroup* GroupAt(float y) const;
  // Where a lane stands, outside the pinned strip; null: not shown.
  const LaidLane* Find(RunKey run, int lane) const;
};

// Shows the group and those around it whole.
void Unfold(const RunData& run, RunKey key, int group, LaneVisibility* visibility);

Layout ComputeLayout(const Timeline& timeline, const LaneVisibility& visibility,
                     const LayoutMetrics& metrics);

}  // namespace lanescope::gui
