// SPDX-License-Identifier: Apache-2.0
#include "gui/model/slice_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "gui/model/draw_rows.h"
#include "gui/model/selection.h"
#include "traces/store/query.h"

namespace lanescope::gui {
namespace {

// An answer's rows by the names of columns: exports of some versions lack some.
class Answer {
 public:
  explicit Answer(traces::QueryResult result) : result_(std::move(result)) {}
  size_t size() const { return result_.rows.size(); }
  int64_t Integer(size_t row, std::string_view column) const {
    const traces::QueryValue* value = Find(row, column);
    const auto* integer = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    return integer == nullptr ? 0 : *integer;
  }
  std::string Text(size_t row, std::string_view column) const {
    const traces::QueryValue* value = Find(row, column);
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return text == nullptr ? std::string() : *text;
  }

 private:
  const traces::QueryValue* Find(size_t row, std::string_view column) const {
    const auto found = std::find(result_.columns.begin(), result_.columns.end(), column);
    return found == result_.columns.end()
               ? nullptr
               : &result_.rows[row][static_cast<size_t>(found - result_.columns.begin())];
  }
  traces::QueryResult result_;
};

// Nothing where the file lacks a table.
Answer Ask(const RunData& run, const std::string& sql, const std::atomic<bool>& cancelled) {
  try {
    return Answer(traces::RunQuery(run.file, sql, &cancelled));
  } catch (const Error& error) {
    if (error.code() == Code::kCancelled) throw;
    return Answer({});
  }
}

// The rows of a table of activities at this time in this run.
std::string AtThisTime(const RunData& run, const Lane& lane, uint32_t slice) {
  std::string where = fmt::format("start = {} AND \"end\" = {}", lane.start_ns[slice], lane.end_ns[slice]);
  // Every run of ours counts from a time of its own.
  if (!run.foreign) where += fmt::format(" AND globalPid >> 48 = {}", run.id);
  return where;
}

// The row of this device among rows that began and ended at the same time.
size_t RowOf(const Answer& rows, const RunData& run, const Lane& lane) {
  for (size_t row = 0; row < rows.size() && lane.device >= 0; ++row) {
    if (rows.Integer(row, "deviceId") == run.devices[static_cast<size_t>(lane.device)].id) return row;
  }
  return 0;
}

void ReadLaunch(const RunData& run, const Lane& lane, uint32_t slice, const std::atomic<bool>& cancelled,
                SliceFacts* facts) {
  const Answer rows =
      Ask(run, "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE " + AtThisTime(run, lane, slice) + " LIMIT 64",
          cancelled);
  if (rows.size() == 0) {
    const Answer sets = Ask(
        run, "SELECT * FROM CUPTI_ACTIVITY_KIND_MEMSET WHERE " + AtThisTime(run, lane, slice) + " LIMIT 64",
        cancelled);
    if (sets.size() > 0) facts->set_bytes = sets.Integer(RowOf(sets, run, lane), "bytes");
    return;
  }
  const size_t row = RowOf(rows, run, lane);
  const auto size = [&](const char* x, const char* y, const char* z) {
    return std::array{rows.Integer(row, x), rows.Integer(row, y), rows.Integer(row, z)};
  };
  facts->registers = rows.Integer(row, "registersPerThread");
  facts->static_shared = rows.Integer(row, "staticSharedMemory");
  facts->dynamic_shared = rows.Integer(row, "dynamicSharedMemory");
  facts->local = rows.Integer(row, "localMemoryPerThread");
  const std::array<int64_t, 3> grid = size("gridX", "gridY", "gridZ"),
                               block = size("blockX", "blockY", "blockZ");
  // A launch on a device that is no GPU is a row of ones.
  const std::array<int64_t, 3> ones{1, 1, 1};
  if (grid == ones && block == ones && facts->registers == 0) return;
  facts->grid = grid;
  facts->block = block;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find_first_of("\n;", begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Imports note shapes and call stacks of operators, Nsight Systems call stacks of calls.
void ReadOperator(const RunData& run, int64_t thread, int64_t time, const std::atomic<bool>& cancelled,
                  SliceFacts* facts) {
  const Answer rows = Ask(
      run,
      fmt::format(
          "SELECT COALESCE(r.text, n.value) AS name, s.value AS shapes, t.value AS types, c.value AS stack "
          "FROM LANESCOPE_OPERATOR AS o JOIN NVTX_EVENTS AS r ON r.eventId = o.eventId "
          "LEFT JOIN StringIds AS n ON n.id = r.textId LEFT JOIN StringIds AS s ON s.id = o.shapes "
          "LEFT JOIN StringIds AS t ON t.id = o.types LEFT JOIN StringIds AS c ON c.id = o.callStack "
          "WHERE r.globalTid = {} AND r.start <= {} AND r.\"end\" >= {} ORDER BY r.start DESC LIMIT 1",
          thread, time, time),
      cancelled);
  if (rows.size() == 0) return;
  facts->operator_name = rows.Text(0, "name");
  facts->shapes = rows.Text(0, "shapes");
  facts->types = rows.Text(0, "types");
  facts->stack = LinesOf(rows.Text(0, "stack"));
}

void ReadCallChain(const RunData& run, const Lane& lane, uint32_t slice, const std::atomic<bool>& cancelled,
                   SliceFacts* facts) {
  const Answer frames = Ask(
      run,
      fmt::format("SELECT s.value AS frame, m.value AS module FROM CUDA_CALLCHAINS AS c "
                  "JOIN StringIds AS s ON s.id = c.symbol LEFT JOIN StringIds AS m ON m.id = c.module "
                  "WHERE c.id = (SELECT callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start = {} AND "
                  "globalTid = {} AND callchainId IS NOT NULL LIMIT 1) ORDER BY stackDepth LIMIT 256",
                  lane.start_ns[slice], lane.thread),
      cancelled);
  for (size_t i = 0; i < frames.size(); ++i) {
    std::string module = frames.Text(i, "module");
    module.erase(0, module.rfind('/') + 1);
    // A frame without a symbol is an address: the library says at least whose it is.
    facts->stack.push_back(frames.Text(i, "frame") + (module.empty() ? "" : " (" + module + ")"));
  }
}

// Ranges of a thread, or of its process, around a time, by start.
void AddRangesAround(const RunData& run, RunKey key, int64_t thread, int64_t process, int64_t time,
                     std::vector<SliceRef>* found) {
  for (size_t l = 0; l < run.lanes.size(); ++l) {
    const Lane& lane = run.lanes[l];
    if (lane.role != LaneRole::kThread || (lane.thread != thread && lane.thread != process)) continue;
    for (const SliceRow& row : lane.rows) {
      const RowSlices slices = SlicesOfRow(lane, row);
      const size_t at = FirstEndingAfter(slices.end, time - 1);
      if (at == slices.start.size() || slices.start[at] > time) continue;
      const int32_t op = slices.op[at];
      if (op < 0 || run.ops[static_cast<size_t>(op)].op != kRangeOp) continue;
      found->push_back({key, static_cast<int>(l), slices.first + static_cast<uint32_t>(at)});
    }
  }
  const auto length = [&](const SliceRef& slice) {
    const Lane& lane = run.lanes[static_cast<size_t>(slice.lane)];
    return lane.end_ns[slice.slice] - lane.start_ns[slice.slice];
  };
  std::stable_sort(found->begin(), found->end(),
                   [&](const SliceRef& a, const SliceRef& b) { return length(a) > length(b); });
}

std::string NameOf(const RunData& run, const SliceRef& slice) {
  const int32_t op = run.lanes[static_cast<size_t>(slice.lane)].op[slice.slice];
  return op < 0 ? std::string() : run.ops[static_cast<size_t>(op)].name;
}

}  // namespace

SliceFacts ReadSliceFacts(const FactsRequest& request, const std::atomic<bool>& cancelled) {
  SliceFacts facts;
  facts.slice = request.slice;
  const RunData& run = *request.run;
  if (run.file.empty() || !request.slice.valid()) return facts;
  const Lane& lane = run.lanes[static_cast<size_t>(request.slice.lane)];
  const uint32_t slice = request.slice.slice;
  if (lane.role == LaneRole::kCompute) ReadLaunch(run, lane, slice, cancelled, &facts);
  SliceRef call = request.slice;
  if (lane.role != LaneRole::kThread) call = OriginOf(run, request.slice.run, request.slice.lane, slice);
  if (!call.valid()) return facts;
  const Lane& thread = run.lanes[static_cast<size_t>(call.lane)];
  ReadOperator(run, thread.thread, thread.start_ns[call.slice], cancelled, &facts);
  if (facts.stack.empty()) ReadCallChain(run, thread, call.slice, cancelled, &facts);
  return facts;
}

LaunchDetails LaunchDetailsOf(const Timeline& timeline, const SliceRef& slice) {
  LaunchDetails details;
  const ShownRun* shown = slice.valid() ? timeline.Find(slice.run) : nullptr;
  if (shown == nullptr) return details;
  const RunData& run = *shown->data;
  const Lane& lane = run.lanes[static_cast<size_t>(slice.lane)];
  const int32_t command = lane.command[slice.slice];
  if (command >= 0) {
    const int signature = run.commands[static_cast<size_t>(command)].signature;
    if (signature >= 0) details.signature = run.signatures[static_cast<size_t>(signature)];
  }
  SliceRef around = slice;
  if (lane.role == LaneRole::kThread) {
    const int32_t call = run.CallOf(slice.lane, slice.slice);
    if (call >= 0) details.launched = static_cast<int64_t>(run.launched[call].size());
  } else {
    around = details.call = LaunchOf(run, slice.run, slice.lane, slice.slice);
    if (!around.valid()) return details;
    const Lane& thread = run.lanes[static_cast<size_t>(around.lane)];
    details.call_name = NameOf(run, around);
    details.call_ns = thread.end_ns[around.slice] - thread.start_ns[around.slice];
    details.delay_ns = std::max<int64_t>(0, lane.start_ns[slice.slice] - thread.end_ns[around.slice]);
    around = OriginOf(run, slice.run, slice.lane, slice.slice);
  }
  const Lane& thread = run.lanes[static_cast<size_t>(around.lane)];
  AddRangesAround(run, slice.run, thread.thread, thread.process, thread.start_ns[around.slice],
                  &details.ranges);
  for (const SliceRef& range : details.ranges) details.range_names.push_back(NameOf(run, range));
  return details;
}

}  // namespace lanescope::gui
