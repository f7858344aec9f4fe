// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gui/model/draw_rows.h"
#include "gui/model/selection.h"

namespace lanescope::gui {
namespace {

const Lane* LaneOf(const Timeline& timeline, const SliceRef& ref, const RunData** run = nullptr) {
  const ShownRun* shown = ref.valid() ? timeline.Find(ref.run) : nullptr;
  if (shown == nullptr || static_cast<size_t>(ref.lane) >= shown->data->lanes.size()) return nullptr;
  if (run != nullptr) *run = shown->data.get();
  const Lane& lane = shown->data->lanes[static_cast<size_t>(ref.lane)];
  return ref.slice < lane.size() ? &lane : nullptr;
}

// The order of `.` and `,`: by start, rows of one instant from the top.
std::pair<int64_t, uint32_t> OrderOf(const Lane& lane, uint32_t slice) {
  return {lane.start_ns[slice], slice};
}

// Slices of the commands that `command` leads to in one step, through Record and Wait.
template <typename Next>
std::vector<SliceRef> Flow(const RunData& run, RunKey key, int lane, uint32_t slice, Next next) {
  std::vector<SliceRef> found;
  const Lane& from = run.lanes[static_cast<size_t>(lane)];
  const int command = from.command[slice], step = from.step[slice];
  if (command < 0) return found;
  std::vector<int> open{command};
  std::vector<int> seen{command};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const uint32_t other : next(at)) {
      const auto number = static_cast<int>(other);
      if (std::find(seen.begin(), seen.end(), number) != seen.end()) continue;
      seen.push_back(number);
      const RunCommand& neighbour = run.commands[other];
      if (!IsWork(neighbour.kind)) {
        open.push_back(number);
        continue;
      }
      const int64_t its = run.FindSlice(number, step);
      if (its >= 0) found.push_back({key, neighbour.lane, static_cast<uint32_t>(its)});
    }
  }
  return found;
}

// Between a call and what it launched.
void AddLaunched(const RunData& run, RunKey key, int lane, uint32_t slice, std::vector<SliceRef>* found) {
  const int32_t call = run.CallOf(lane, slice);
  if (call < 0 || run.lanes[static_cast<size_t>(lane)].role != LaneRole::kThread) return;
  for (const SlicePlace& place : run.launched[call]) found->push_back({key, place.lane, place.slice});
}
void AddCall(const RunData& run, RunKey key, int lane, uint32_t slice, std::vector<SliceRef>* found) {
  const int32_t call = run.CallOf(lane, slice);
  if (call < 0 || run.lanes[static_cast<size_t>(lane)].role == LaneRole::kThread) return;
  const SlicePlace& place = run.calls[static_cast<size_t>(call)].place;
  if (place.lane >= 0) found->push_back({key, place.lane, place.slice});
}

}  // namespace

SliceRef LaunchOf(const RunData& run, RunKey key, int lane, uint32_t slice) {
  std::vector<SliceRef> found;
  AddCall(run, key, lane, slice, &found);
  return found.empty() ? SliceRef{} : found.front();
}

SliceRef OriginOf(const RunData& run, RunKey key, int lane, uint32_t slice) {
  const int32_t call = run.OriginOf(run.lanes[static_cast<size_t>(lane)], slice);
  const SlicePlace place = call < 0 ? SlicePlace() : run.calls[static_cast<size_t>(call)].place;
  return place.lane < 0 ? LaunchOf(run, key, lane, slice) : SliceRef{key, place.lane, place.slice};
}

SliceRef NextInLane(const Timeline& timeline, const SliceRef& from) {
  const Lane* lane = LaneOf(timeline, from);
  if (lane == nullptr) return {};
  const auto here = OrderOf(*lane, from.slice);
  SliceRef best;
  for (const SliceRow& row : lane->rows) {
    const RowSlices slices = SlicesOfRow(*lane, row);
    size_t i = FirstStartingFrom(slices.start, here.first);
    while (i < slices.start.size() && OrderOf(*lane, row.begin + static_cast<uint32_t>(i)) <= here) ++i;
    if (i == slices.start.size()) continue;
    const SliceRef found{from.run, from.lane, row.begin + static_cast<uint32_t>(i)};
    if (!best.valid() || OrderOf(*lane, found.slice) < OrderOf(*lane, best.slice)) best = found;
  }
  return best;
}

SliceRef PreviousInLane(const Timeline& timeline, const SliceRef& from) {
  const Lane* lane = LaneOf(timeline, from);
  if (lane == nullptr) return {};
  const auto here = OrderOf(*lane, from.slice);
  SliceRef best;
  for (const SliceRow& row : lane->rows) {
    const RowSlices slices = SlicesOfRow(*lane, row);
    size_t i = FirstStartingFrom(slices.start, here.first + 1);
    while (i > 0 && OrderOf(*lane, row.begin + static_cast<uint32_t>(i) - 1) >= here) --i;
    if (i == 0) continue;
    const SliceRef found{from.run, from.lane, row.begin + static_cast<uint32_t>(i) - 1};
    if (!best.valid() || OrderOf(*lane, found.slice) > OrderOf(*lane, best.slice)) best = found;
  }
  return best;
}

std::vector<SliceRef> FlowSuccessors(const RunData& run, RunKey key, int lane, uint32_t slice) {
  auto found = Flow(run, key, lane, slice, [&](int command) { return run.Successors(command); });
  AddLaunched(run, key, lane, slice, &found);
  return found;
}

std::vector<SliceRef> FlowPredecessors(const RunData& run, RunKey key, int lane, uint32_t slice) {
  auto found = Flow(run, key, lane, slice, [&](int command) { return run.Predecessors(command); });
  AddCall(run, key, lane, slice, &found);
  return found;
}

SliceRef NextInFlow(const Timeline& timeline, const SliceRef& from) {
  const RunData* run = nullptr;
  if (LaneOf(timeline, from, &run) == nullptr) return {};
  SliceRef best;
  int64_t start = 0;
  for (const SliceRef& after : FlowSuccessors(*run, from.run, from.lane, from.slice)) {
    const int64_t its = run->lanes[static_cast<size_t>(after.lane)].start_ns[after.slice];
    if (best.valid() && its >= start) continue;
    best = after;
    start = its;
  }
  return best;
}

SliceRef PreviousInFlow(const Timeline& timeline, const SliceRef& from) {
  const RunData* run = nullptr;
  if (LaneOf(timeline, from, &run) == nullptr) return {};
  SliceRef best;
  int64_t end = 0;
  for (const SliceRef& before : FlowPredecessors(*run, from.run, from.lane, from.slice)) {
    const int64_t its = run->lanes[static_cast<size_t>(before.lane)].end_ns[before.slice];
    if (best.valid() && its <= end) continue;
    best = before;
    end = its;
  }
  return best;
}

SliceRef NearestSlice(const Timeline& timeline, RunKey key, OpIdentity identity, int64_t time_ns) {
  const ShownRun* shown = timeline.Find(key);
  const int op = shown == nullptr ? -1 : timeline.OpIn(*shown, identity);
  if (op < 0) return {};
  SliceRef best;
  uint64_t least = UINT64_MAX;
  bool best_is_copy = true;
  for (size_t l = 0; l < shown->data->lanes.size(); ++l) {
    const Lane& lane = shown->data->lanes[l];
    if (lane.role == LaneRole::kLink || (lane.is_copy() && !best_is_copy)) continue;
    for (size_t i = 0; i < lane.size(); ++i) {
      if (lane.op[i] != op) continue;
      const int64_t from = lane.start_ns[i];
      const uint64_t distance = from > time_ns ? static_cast<uint64_t>(from) - static_cast<uint64_t>(time_ns)
                                               : static_cast<uint64_t>(time_ns) - static_cast<uint64_t>(from);
      if (distance >= least && lane.is_copy() == best_is_copy) continue;
      least = distance;
      best_is_copy = lane.is_copy();
      best = {key, static_cast<int>(l), static_cast<uint32_t>(i)};
    }
  }
  return best;
}

std::optional<std::pair<double, double>> AxisRange(const Timeline& timeline, const std::vector<RunAxis>& axes,
                                                   const SliceRef& slice) {
  const Lane* lane = LaneOf(timeline, slice);
  const int index = timeline.IndexOf(slice.run);
  if (lane == nullptr || static_cast<size_t>(index) >= axes.size()) return std::nullopt;
  const RunAxis& axis = axes[static_cast<size_t>(index)];
  return std::pair(axis.ToAxis(lane->start_ns[slice.slice]), axis.ToAxis(lane->end_ns[slice.slice]));
}

}  // namespace lanescope::gui
