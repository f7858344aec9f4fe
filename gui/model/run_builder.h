// SPDX-License-Identifier: Apache-2.0
// From slices as they come to a RunData: sorted, in rows without overlap, summarised, indexed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/run_data.h"

namespace lanescope::gui {

struct RawSlice {
  int64_t start_ns = 0, end_ns = 0;  // end >= start
  int32_t op = -1, command = -1, step = -1;
  int32_t call = -1;  // Lane::call
};

// Slices of a lane in any order, in pieces that are joined one after the other. `bytes` and `routes` are
// empty, or as long as their piece.
struct RawLane {
  struct Piece {
    std::vector<RawSlice> slices;
    std::vector<int64_t> bytes = {};
    std::vector<int32_t> routes = {};
    int64_t process = -1;  // that launched its first slice
  };
  LaneRole role = LaneRole::kCompute;
  int device = -1, peer = -1;
  int64_t thread = -1, process = -1;  // Lane's
  std::string label;
  std::vector<Piece> pieces;
};

// Overlapping slices go to different rows, each to the first row that is free at its start (of more than 64
// rows to the one that is free longest); of equal starts the longer first, so that nested calls nest. Slices
// that overlap with 65535 others are left out and counted in `*left_out`. Empties `raw`.
Lane BuildLane(RawLane* raw, int64_t* left_out);

// A lane that shows a counter; points in any order.
Lane BuildCounterLane(int device, std::vector<std::pair<int64_t, int64_t>> points);

// A run with the tables of a view. What more is known of devices, ops and commands, which stand where they do
// in the view, and the lanes are for the caller to add.
RunData BeginRun(const RunView& tables);

// Colours of the ops, and their order by name. FinishRun does it where it was not done.
void IndexOps(RunData* run);

// Everything that follows from devices, ops, lanes, steps, commands and dependencies: sorts lanes and steps,
// lanes of commands, the indexes, peaks, begin and end, median step, title. `edges`:
// dependencies by index into commands; those out of range are left out.
std::shared_ptr<const RunData> FinishRun(RunData run, std::vector<std::pair<int, int>> edges);

// Colour of an op type: a hash (FNV-1a), never 0.
uint32_t OpColor(std::string_view op);

}  // namespace lanescope::gui
