// SPDX-License-Identifier: Apache-2.0
// The selection, how to walk from there, and what an area adds up to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/layout.h"
#include "gui/model/timeline_data.h"
#include "gui/model/view_transform.h"

namespace lanescope::gui {

// An area of the timeline: a range of the shared axis, and lanes.
struct Area {
  double begin = 0, end = 0;  // of the axis; begin <= end
  std::vector<LaneId> lanes;
};

// The user's choice. An op is selected in all runs at once; `slice` is the one that was clicked. Value
// type.
struct Selection {
  SliceRef slice;
  OpIdentity op = -1;
  std::vector<OpIdentity> ops;  // several (Ctrl+click, a name scope); includes `op`; ascending
  std::optional<Area> area;
  std::optional<LaneId> lane;
  bool empty() const { return op < 0 && ops.empty() && !area.has_value() && !lane.has_value(); }

  void Clear() { *this = {}; }
  // Also selects the slice's op. An invalid slice clears.
  void SelectSlice(const Timeline& timeline, const SliceRef& slice);
  void SelectOp(OpIdentity identity);
  // Adds or takes away.
  void ToggleOp(OpIdentity identity);
  // Every op named `scope` or beginning with `scope/`, in any run.
  void SelectScope(const Timeline& timeline, const std::string& scope);
};

// The name scopes around an op, widest first: "a/b/c" -> {"a", "a/b"}.
std::vector<std::string> ScopesOf(const std::string& name);

// Facts of one slice, for the inspector.
struct SliceDetails {
  std::string name, op, lane, run;
  int64_t start_ns = 0, duration_ns = 0;  // start: from the beginning of the run
  int64_t bytes = 0;                      // copies
  int step = -1;
  double bandwidth = 0;  // copies: bytes per second
  int64_t mean_ns = 0;   // of this op in this lane, over the run
  int64_t count = 0;
};
SliceDetails DetailsOf(const Timeline& timeline, const SliceRef& slice);

// Navigation: the returned slice is invalid where there is none.
// `.` and `,`: the next or previous slice of the lane by start time, whatever its row.
SliceRef NextInLane(const Timeline& timeline, const SliceRef& from);
SliceRef PreviousInLane(const Timeline& timeline, const SliceRef& from);
// `]` and `[`: along the flow. Forward: of what waits for this slice in its step, the one that starts first;
// backward: of what it waited for, the one that ended last. Record and Wait, which have no slices, are passed
// through. An API call leads to what it launched.
SliceRef NextInFlow(const Timeline& timeline, const SliceRef& from);
SliceRef PreviousInFlow(const Timeline& timeline, const SliceRef& from);
// The call that launched a slice; invalid: none is known.
SliceRef LaunchOf(const RunData& run, RunKey key, int lane, uint32_t slice);
// The call that says where a slice comes from (RunData::OriginOf).
SliceRef OriginOf(const RunData& run, RunKey key, int lane, uint32_t slice);
// All neighbours along the flow, for arrows.
std::vector<SliceRef> FlowSuccessors(const RunData& run, RunKey key, int lane, uint32_t slice);
std::vector<SliceRef> FlowPredecessors(const RunData& run, RunKey key, int lane, uint32_t slice);
// The op's slice nearest to `time_ns` of a run: where it runs; of an op that never ran where its output is
// copied; links do not count.
SliceRef NearestSlice(const Timeline& timeline, RunKey run, OpIdentity op, int64_t time_ns);
// Begin and end of a slice, or of all slices of the selected op in all runs, on the axis. Empty for nothing.
std::optional<std::pair<double, double>> AxisRange(const Timeline& timeline, const std::vector<RunAxis>& axes,
                                                   const SliceRef& slice);

// How a table of sums groups slices.
enum class GroupBy : uint8_t { kName, kOp, kKind, kDevice };

struct SumRow {
  std::string group;
  RunKey run = 0;
  int64_t count = 0;
  int64_t total_ns = 0;  // of the parts that lie in the range
  int64_t min_ns = 0, max_ns = 0;
  int64_t bytes = 0;  // of copies
  double share = 0;   // of the total of its run
  double mean_ns() const {
    return count > 0 ? static_cast<double>(total_ns) / static_cast<double>(count) : 0;
  }
};

// The area to sum: runs are shared, so that a worker thread can do it.
struct SumRequest {
  struct Run {
    RunKey key = 0;
    std::shared_ptr<const RunData> data;
    RunAxis axis;
    std::vector<int> lanes;
  };
  std::vector<Run> runs;
  double begin = 0, end = 0;  // of the axis
  GroupBy group = GroupBy::kName;
};
struct SumTable {
  GroupBy group = GroupBy::kName;
  double begin = 0, end = 0;
  std::vector<SumRow> rows;  // largest total first
  struct RunTotal {
    RunKey run = 0;
    int64_t count = 0, total_ns = 0;
    int64_t span_ns = 0;  // of the range, in the run's time
  };
  std::vector<RunTotal> totals;
};
// Sums of an area, or of the visible range with all lanes (links left out: their slices are copies' as well).
SumRequest RequestSums(const Timeline& timeline, const std::vector<RunAxis>& axes, const Area& area,
                       GroupBy group);
Area VisibleArea(const Timeline& timeline, const ViewTransform& view);
// The slices that touch the range. Use it with LatestWorker<SumRequest, SumTable>: 10 million slices take
// tens of ms. Ends early with an incomplete table when cancelled.
SumTable ComputeSums(const SumRequest& request, const std::atomic<bool>& cancelled);

// A mark on the axis, set with M.
struct Mark {
  double begin = 0, end = 0;  // equal: a point
  std::string label;
};

}  // namespace lanescope::gui
