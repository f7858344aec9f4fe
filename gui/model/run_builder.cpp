// SPDX-License-Identifier: Apache-2.0
#include "gui/model/run_builder.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>
#include <queue>
#include <tuple>

#include "core/runs/run_profile.h"
#include "gui/model/group_lanes.h"
#include "gui/model/index_calls.h"
#include "gui/model/join_pieces.h"
#include "traces/report/statistics.h"

namespace lanescope::gui {
namespace {

constexpr size_t kMaxRows = 65535;
constexpr size_t kFirstFitRows = 64;
constexpr uint16_t kLeftOut = 65535;

// Hands out rows to slices that come in order of start.
class RowAssigner {
 public:
  // kLeftOut: there are too many.
  uint16_t RowFor(const RawSlice& slice) {
    const size_t tried = std::min(ends_.size(), kFirstFitRows);
    for (size_t row = 0; row < tried; ++row) {
      if (ends_[row] > slice.start_ns) continue;
      ends_[row] = slice.end_ns;
      return static_cast<uint16_t>(row);
    }
    if (!later_.empty() && later_.top().first <= slice.start_ns) {
      const size_t row = later_.top().second;
      later_.pop();
      later_.emplace(slice.end_ns, row);
      return static_cast<uint16_t>(row);
    }
    if (ends_.size() == kMaxRows) return kLeftOut;
    ends_.push_back(slice.end_ns);
    if (ends_.size() > kFirstFitRows) later_.emplace(slice.end_ns, ends_.size() - 1);
    return static_cast<uint16_t>(ends_.size() - 1);
  }
  size_t rows() const { return ends_.size(); }

 private:
  using End = std::pair<int64_t, size_t>;
  std::vector<int64_t> ends_;
  std::priority_queue<End, std::vector<End>, std::greater<>> later_;  // of rows beyond the first
};

RowSlices SlicesOf(const Lane& lane, const SliceRow& row) {
  const size_t begin = row.begin, size = row.end - row.begin;
  return {std::span(lane.start_ns).subspan(begin, size), std::span(lane.end_ns).subspan(begin, size),
          std::span(lane.op).subspan(begin, size), row.begin};
}

// Columns in the order of `rows` (empty: one row).
void FillColumns(const RawLane::Piece& all, const std::vector<uint16_t>& rows, size_t num_rows,
                 int64_t* left_out, Lane* lane) {
  const size_t size = all.slices.size();
  std::vector<uint32_t> next(num_rows + 1, 0);
  if (rows.empty()) {
    next[num_rows] = static_cast<uint32_t>(size);
  } else {
    for (const uint16_t row : rows) {
      if (row != kLeftOut) ++next[row + size_t{1}];
    }
    for (size_t r = 1; r <= num_rows; ++r) next[r] += next[r - 1];
  }
  const size_t kept = next[num_rows];
  *left_out += static_cast<int64_t>(size - kept);
  for (size_t r = 0; r < num_rows; ++r) lane->rows.push_back({next[r], next[r + 1], {}});
  lane->start_ns.resize(kept);
  lane->end_ns.resize(kept);
  lane->op.resize(kept);
  lane->command.resize(kept);
  lane->step.resize(kept);
  if (!all.bytes.empty()) lane->bytes.resize(kept);
  if (!all.routes.empty()) lane->route.resize(kept);
  const auto called = [](const RawSlice& slice) { return slice.call >= 0; };
  const bool calls = std::any_of(all.slices.begin(), all.slices.end(), called);
  if (calls) lane->call.resize(kept);
  for (size_t i = 0; i < size; ++i) {
    const size_t row = rows.empty() ? 0 : rows[i];
    if (row == kLeftOut) continue;
    const size_t to = next[row]++;
    const RawSlice& slice = all.slices[i];
    lane->start_ns[to] = slice.start_ns;
    lane->end_ns[to] = slice.end_ns;
    lane->ns += slice.end_ns - slice.start_ns;
    lane->op[to] = slice.op;
    lane->command[to] = slice.command;
    lane->step[to] = slice.step;
    if (calls) lane->call[to] = slice.call;
    if (!all.bytes.empty()) lane->bytes[to] = all.bytes[i];
    if (!all.routes.empty()) lane->route[to] = all.routes[i];
  }
}

int OrderOf(const Lane& lane) {
  switch (lane.role) {
    case LaneRole::kLink:
      return 1;
    case LaneRole::kQueueFill:
    case LaneRole::kThread:
      return 2;
    default:
      return 0;
  }
}

// A device that ran nothing has a lane all the same: it is idle, and ops may be moved there. Of other tools'
// runs nothing can be moved.
void AddIdleLanes(RunData* run) {
  if (run->foreign) return;
  std::vector<char> computes(run->devices.size(), 0);
  for (const Lane& lane : run->lanes) {
    if (lane.role == LaneRole::kCompute && lane.device >= 0) computes[static_cast<size_t>(lane.device)] = 1;
  }
  for (size_t d = 0; d < computes.size(); ++d) {
    if (computes[d]) continue;
    Lane lane;
    lane.role = LaneRole::kCompute;
    lane.device = static_cast<int>(d);
    lane.label = std::string(LaneRoleName(LaneRole::kCompute));
    run->lanes.push_back(std::move(lane));
  }
}

// Groups one after the other, lanes without one last; in them host devices last among the devices; the lanes
// of a device together.
void SortLanes(RunData* run) {
  const auto key = [run](const Lane& lane) {
    const bool host = lane.device >= 0 && run->devices[static_cast<size_t>(lane.device)].is_host;
    return std::tuple(OrderOf(lane), host, lane.device, lane.role, lane.peer, std::cref(lane.label));
  };
  // Groups are numbered as they stand, each before those in it. Where threads alone are grouped, they are
  // last.
  const bool threads_alone = std::all_of(run->groups.begin(), run->groups.end(), [](const LaneGroup& group) {
    return group.kind == LaneGroup::Kind::kThreads;
  });
  const auto group_of = [&](const Lane& lane) {
    return lane.group >= 0 ? lane.group : threads_alone ? -1 : INT_MAX;
  };
  std::stable_sort(run->lanes.begin(), run->lanes.end(), [&](const Lane& a, const Lane& b) {
    if (group_of(a) != group_of(b)) return group_of(a) < group_of(b);
    const auto ka = key(a), kb = key(b);
    if (std::get<0>(ka) != std::get<0>(kb)) return std::get<0>(ka) < std::get<0>(kb);
    if (std::get<1>(ka) != std::get<1>(kb)) return std::get<1>(ka) < std::get<1>(kb);
    if (std::get<2>(ka) != std::get<2>(kb)) return std::get<2>(ka) < std::get<2>(kb);
    if (std::get<3>(ka) != std::get<3>(kb)) return std::get<3>(ka) < std::get<3>(kb);
    if (std::get<4>(ka) != std::get<4>(kb)) return std::get<4>(ka) < std::get<4>(kb);
    return a.label < b.label;
  });
}

// Rows of `to` by `from`, both below `size`.
Rows<uint32_t> RowsOf(const std::vector<std::pair<int, int>>& edges, size_t size, bool backward) {
  return MakeRows<uint32_t>(size, [&](const auto& add) {
    for (const auto& [from, to] : edges) {
      backward ? add(to, static_cast<uint32_t>(from)) : add(from, static_cast<uint32_t>(to));
    }
  });
}

void IndexCommands(RunData* run) {
  const size_t size = run->commands.size();
  // Calls `visit` with lane, place in it and command of every slice of one, but those of links.
  const auto for_each = [&](auto visit) {
    for (size_t l = 0; l < run->lanes.size(); ++l) {
      const Lane& lane = run->lanes[l];
      if (lane.role == LaneRole::kLink) continue;
      for (size_t i = 0; i < lane.size(); ++i) {
        const int32_t c = lane.command[i];
        if (c >= 0 && static_cast<size_t>(c) < size) visit(static_cast<int>(l), i, c);
      }
    }
  };
  for_each([&](int lane, size_t, int32_t c) {
    RunCommand& command = run->commands[static_cast<size_t>(c)];
    if (command.lane < 0) command.lane = lane;
  });
  run->slices_of_command = MakeRows<uint32_t>(size, [&](const auto& add) {
    for_each([&](int lane, size_t i, int32_t c) {
      if (run->commands[static_cast<size_t>(c)].lane == lane) add(c, static_cast<uint32_t>(i));
    });
  });
  Rows<uint32_t>& rows = run->slices_of_command;
  for (size_t c = 0; c < size; ++c) {
    if (run->commands[c].lane < 0) continue;
    const Lane& lane = run->lanes[static_cast<size_t>(run->commands[c].lane)];
    const auto begin = rows.items.begin() + rows.first[c], end = rows.items.begin() + rows.first[c + 1];
    const auto by_step = [&](uint32_t a, uint32_t b) { return lane.step[a] < lane.step[b]; };
    if (!std::is_sorted(begin, end, by_step)) std::stable_sort(begin, end, by_step);
  }
}

void CountSlices(RunData* run) {
  bool any = false;
  const auto extend = [&](int64_t from, int64_t to) {
    run->begin_ns = any ? std::min(run->begin_ns, from) : from;
    run->end_ns = any ? std::max(run->end_ns, to) : to;
    any = true;
  };
  run->num_slices = 0;
  for (const Lane& lane : run->lanes) {
    for (const SliceRow& row : lane.rows) {
      if (row.begin < row.end) extend(lane.start_ns[row.begin], lane.end_ns[row.end - 1]);
    }
    if (lane.role == LaneRole::kLink) continue;
    run->num_slices += static_cast<int64_t>(lane.size());
    for (size_t i = 0; i < lane.size(); ++i) {
      const int32_t op = lane.op[i];
      if (op < 0 || static_cast<size_t>(op) >= run->ops.size()) continue;
      ++run->ops[static_cast<size_t>(op)].slices;
      if (lane.on_device()) run->ops[static_cast<size_t>(op)].ns += lane.end_ns[i] - lane.start_ns[i];
    }
  }
  for (const RunView::Step& step : run->steps) extend(step.start_ns, step.end_ns);
}

void FillPeaks(RunData* run) {
  for (const Lane& lane : run->lanes) {
    if (!lane.is_counter() || lane.device < 0) continue;
    int64_t& peak = run->devices[static_cast<size_t>(lane.device)].peak_bytes;
    if (peak > 0) continue;
    for (const int64_t value : lane.counter_value) peak = std::max(peak, value);
  }
}

// A run without steps is as long as its devices were at work, as `summary` and `diff` have it; threads may
// have begun long before.
int64_t WholeOf(const RunData& run) {
  int64_t begin = INT64_MAX, end = INT64_MIN;
  for (const Lane& lane : run.lanes) {
    if (!lane.on_device()) continue;
    for (const SliceRow& row : lane.rows) {
      if (row.begin == row.end) continue;
      begin = std::min(begin, lane.start_ns[row.begin]);
      end = std::max(end, lane.end_ns[row.end - 1]);
    }
  }
  return begin < end ? end - begin : run.end_ns - run.begin_ns;
}

void FillStepTimes(RunData* run) {
  std::sort(run->steps.begin(), run->steps.end(), [](const RunView::Step& a, const RunView::Step& b) {
    return std::tie(a.start_ns, a.number) < std::tie(b.start_ns, b.number);
  });
  if (run->step_ns > 0) return;
  if (run->steps.empty()) {
    run->step_ns = WholeOf(*run);
    return;
  }
  std::vector<int64_t> lengths;
  for (const RunView::Step& step : run->steps) {
    if (step.counts) lengths.push_back(step.end_ns - step.start_ns);
  }
  const StepRange step = MeasuredStep(std::move(lengths), !run->commands.empty());
  run->step_ns = std::llround(step.step_ns);
  if (run->kind == RunKind::kSimulated || run->kind == RunKind::kWhatIf) return;
  run->step_low_ns = std::llround(step.low_ns);
  run->step_high_ns = std::llround(step.high_ns);
}

}  // namespace

uint32_t OpColor(std::string_view op) {
  uint32_t hash = 2166136261u;
  for (const char c : op) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash == 0 ? 1 : hash;
}

Lane BuildLane(RawLane* raw, int64_t* left_out) {
  Lane lane;
  lane.role = raw->role;
  lane.device = raw->device;
  lane.peer = raw->peer;
  lane.thread = raw->thread;
  lane.process = raw->process;
  lane.label = std::move(raw->label);
  const RawLane::Piece all = JoinPieces(raw);
  if (all.slices.empty()) return lane;
  RowAssigner assigner;
  std::vector<uint16_t> rows;
  for (size_t i = 0; i < all.slices.size(); ++i) {
    const uint16_t row = assigner.RowFor(all.slices[i]);
    if (row != 0 && rows.empty()) rows.assign(all.slices.size(), 0);
    if (row != 0) rows[i] = row;
  }
  FillColumns(all, rows, assigner.rows(), left_out, &lane);
  for (SliceRow& row : lane.rows) row.summary = RowSummary(SlicesOf(lane, row));
  return lane;
}

Lane BuildCounterLane(int device, std::vector<std::pair<int64_t, int64_t>> points) {
  Lane lane;
  lane.role = LaneRole::kMemory;
  lane.device = device;
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(points.begin(), points.end(), before))
    std::stable_sort(points.begin(), points.end(), before);
  lane.counter_time_ns.reserve(points.size());
  lane.counter_value.reserve(points.size());
  for (const auto& [time, value] : points) {
    if (!lane.counter_time_ns.empty() && lane.counter_time_ns.back() == time) {
      lane.counter_value.back() = value;
      continue;
    }
    lane.counter_time_ns.push_back(time);
    lane.counter_value.push_back(value);
  }
  lane.counter = CounterPyramid(lane.counter_value);
  return lane;
}

RunData BeginRun(const RunView& tables) {
  RunData run;
  for (const RunView::Device& device : tables.devices) run.devices.push_back({device});
  for (const RunView::Op& op : tables.ops) run.ops.push_back({std::string(op.name)});
  run.queues = tables.queues;
  for (const RunView::Command& command : tables.commands) run.commands.push_back({command});
  run.signatures.assign(tables.signatures.begin(), tables.signatures.end());
  run.steps = tables.steps;
  return run;
}

void IndexOps(RunData* run) {
  for (OpEntry& op : run->ops) op.color = OpColor(op.op);
  run->ops_by_name.resize(run->ops.size());
  std::iota(run->ops_by_name.begin(), run->ops_by_name.end(), 0);
  std::stable_sort(run->ops_by_name.begin(), run->ops_by_name.end(), [&](int a, int b) {
    return run->ops[static_cast<size_t>(a)].name < run->ops[static_cast<size_t>(b)].name;
  });
}

std::shared_ptr<const RunData> FinishRun(RunData run, std::vector<std::pair<int, int>> edges) {
  if (run.ops_by_name.size() != run.ops.size()) IndexOps(&run);
  AddIdleLanes(&run);
  GroupLanes(&run);
  SortLanes(&run);
  CountSlices(&run);
  FillStepTimes(&run);
  FillPeaks(&run);
  IndexCommands(&run);
  IndexCalls(&run);
  FillRanges(&run);
  const auto count = static_cast<int>(run.commands.size());
  std::erase_if(edges, [count](const auto& edge) {
    return edge.first < 0 || edge.first >= count || edge.second < 0 || edge.second >= count ||
           edge.first == edge.second;
  });
  run.successors = RowsOf(edges, run.commands.size(), false);
  run.predecessors = RowsOf(edges, run.commands.size(), true);
  return std::make_shared<const RunData>(std::move(run));
}

}  // namespace lanescope::gui
