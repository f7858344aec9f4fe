// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/machine/machine.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

std::string CountCell(int64_t count) { return std::to_string(count); }

// The first rows of a table, as many as the layout wants.
template <typename Row>
std::span<const Row> Top(const std::vector<Row>& rows, const SummaryLayout& layout) {
  const size_t wanted = layout.top > 0 ? static_cast<size_t>(layout.top) : rows.size();
  return std::span(rows).first(std::min(rows.size(), wanted));
}

// The table, and how many rows it leaves out.
template <typename Row>
std::string Taken(TextTable* table, const std::vector<Row>& rows, const SummaryLayout& layout) {
  const size_t left = rows.size() - Top(rows, layout).size();
  return table->Take(layout.width) + (left > 0 ? fmt::format("{} more; --top 0 shows all\n", left) : "");
}

// The columns of nvprof.
void AppendBlock(std::string_view title, const std::vector<SummaryRow>& rows, const SummaryLayout& layout,
                 std::string* out) {
  if (rows.empty()) return;
  TextTable table;
  table.Number("Time(%)").Number("Time").Number("Calls").Number("Avg").Number("Min").Number("Max").Name(
      "Name");
  for (const SummaryRow& row : Top(rows, layout)) {
    const double average =
        row.calls == 0 ? 0 : static_cast<double>(row.total_ns) / static_cast<double>(row.calls);
    table.Row({PercentText(row.time_percent / 100, 2), TimeText(row.total_ns), CountCell(row.calls),
               TimeText(average), TimeText(row.min_ns), TimeText(row.max_ns), row.name});
  }
  *out += fmt::format("{}{}:\n{}", out->empty() ? "" : "\n", title, Taken(&table, rows, layout));
}

std::string BytesCell(const TrafficRow& row) { return row.bytes_known ? FormatBytes(row.bytes) : "?"; }

void AppendTraffic(const std::vector<TrafficRow>& traffic, int width, std::string* out) {
  if (traffic.empty()) return;
  std::set<std::string> ends;
  std::map<std::pair<std::string, std::string>, const TrafficRow*> cells;
  for (const TrafficRow& row : traffic) {
    ends.insert(row.src);
    ends.insert(row.dst);
    cells[{row.src, row.dst}] = &row;
  }
  TextTable table;
  table.Text("From / to");
  for (const std::string& dst : ends) table.Number(dst);
  for (const std::string& src : ends) {
    std::vector<std::string> row = {src};
    for (const std::string& dst : ends) {
      const auto cell = cells.find({src, dst});
      row.push_back(
          cell == cells.end() ? "-" : fmt::format("{} ({})", BytesCell(*cell->second), cell->second->count));
    }
    table.Row(std::move(row));
  }
  *out += "\nTraffic, bytes (copies)\n" + table.Take(width);
}

// The table of tasks that processes of their own played.
void AppendTasks(const std::vector<RunTask>& tasks, int width, std::string* out) {
  TextTable table;
  table.Text("Task").Text("Process").Number("Clock ahead").Number("known to");
  for (const RunTask& task : tasks) {
    if (task.process.empty()) continue;
    table.Row({task.name, Printable(task.process), SignedTimeText(static_cast<double>(task.clock_ahead_ns)),
               TimeText(task.clock_uncertainty_ns)});
  }
  if (!table.empty()) *out += "\n" + table.Take(width);
}

// An engine's requests and tokens, by step.
std::vector<std::string> WorkCells(const StepWork& work) {
  std::vector<std::string> cells;
  for (const int64_t count : {work.prefill, work.decode, work.tokens})
    cells.push_back(count < 0 ? "" : CountCell(count));
  return cells;
}

// `more`: cells of further columns.
void AddDeviceRows(std::string label, const std::vector<DeviceTime>& devices,
                   const std::vector<std::string>& more, TextTable* table) {
  for (const DeviceTime& time : devices) {
    const auto share = [&](int64_t ns) {
      return PercentText(time.window_ns == 0 ? 0
                                             : static_cast<double>(ns) / static_cast<double>(time.window_ns));
    };
    std::vector<std::string> cells = {label,
                                      time.device,
                                      TimeText(time.window_ns),
                                      share(time.compute_ns),
                                      share(time.overlapped_ns),
                                      share(time.exposed_ns),
                                      share(time.hidden_copies_ns),
                                      share(time.exposed_copies_ns),
                                      share(time.idle_ns)};
    cells.insert(cells.end(), more.begin(), more.end());
    table->Row(std::move(cells));
    label.clear();
  }
}

// The run, and of its steps that count the fastest, the median one and the slowest; of one step, that one.
void AppendDevices(const Summary& summary, int width, std::string* out) {
  if (summary.devices.empty()) return;
  TextTable table;
  table.Text("").Text("Device").Number("Window").Number("Compute").Group("NCCL").Number("hidden").Number(
      "exposed");
  table.Group("Copies").Number("hidden").Number("exposed").Group("").Number("Idle");
  const bool serves =
      std::ranges::any_of(summary.steps, [](const StepUsage& step) { return step.work.known(); });
  if (serves) table.Group("Requests").Number("prefill").Number("decode").Group("").Number("Tokens");
  const bool one_step = summary.step >= 0;
  AddDeviceRows(one_step             ? fmt::format("step {}", summary.step)
                : summary.over_steps ? "steps"
                                     : "run",
                summary.devices, serves ? WorkCells({}) : std::vector<std::string>(), &table);
  if (one_step || summary.steps.size() < (serves ? 1u : 2u)) {
    *out += "\n" + table.Take(width);
    return;
  }
  std::vector<const StepUsage*> by_length;
  for (const StepUsage& step : summary.steps) {
    if (step.counts) by_length.push_back(&step);
  }
  std::stable_sort(by_length.begin(), by_length.end(), [](const StepUsage* a, const StepUsage* b) {
    return a->end_ns - a->start_ns < b->end_ns - b->start_ns;
  });
  std::vector<const StepUsage*> shown = {by_length.front(), by_length[(by_length.size() - 1) / 2],
                                         by_length.back()};
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  for (const StepUsage* step : shown)
    AddDeviceRows(fmt::format("step {}", step->step), step->devices,
                  serves ? WorkCells(step->work) : std::vector<std::string>(), &table);
  if (summary.steps.size() == 1) {
    *out += "\n" + table.Take(width);
    return;
  }
  const size_t disturbed = summary.steps.size() - by_length.size();
  *out += fmt::format("\n{}(of {} steps the shortest, the median and the longest{}; --step N shows one)\n",
                      table.Take(width), by_length.size(),
                      disturbed > 0 ? fmt::format("; others disturbed {} more", disturbed) : "");
}

void AppendRanges(const std::vector<RangeRow>& rows, ProgramPlace place, const SummaryLayout& layout,
                  std::string* out) {
  if (rows.empty()) return;
  TextTable table;
  table.Number("Kernels").Number("Launches").Number("Copies").Number("Count").Number("Bytes");
  table
      .Name(place == ProgramPlace::kRange    ? "NVTX range"
            : place == ProgramPlace::kModule ? "Module"
                                             : "Line")
      .Name("Kernel that takes most of it");
  for (const RangeRow& row : Top(rows, layout)) {
    table.Row({TimeText(row.kernel_ns), CountCell(row.kernels), TimeText(row.copy_ns), CountCell(row.copies),
               row.copies > 0 && row.copy_bytes == 0 ? "?" : FormatBytes(row.copy_bytes), row.name,
               row.top_kernel});
  }
  *out += "\n" + Taken(&table, rows, layout);
}

// The columns of "nsys stats".
void AppendSums(std::string_view title, std::string count, std::string name,
                const std::vector<OperationSum>& sums, const SummaryLayout& layout, std::string* out) {
  if (sums.empty()) return;
  TextTable table;
  table.Number("Time (%)").Number("Total Time (ns)").Number(std::move(count)).Number("Avg (ns)");
  table.Number("Med (ns)").Number("Min (ns)").Number("Max (ns)").Number("StdDev (ns)");
  const bool styled = !sums.front().style.empty();
  if (styled) table.Text("Style");
  table.Name(std::move(name));
  const auto rounded = [](double value) { return fmt::format("{:.1f}", value); };
  for (const OperationSum& sum : Top(sums, layout)) {
    std::vector<std::string> cells = {rounded(sum.percent), CountCell(sum.total), CountCell(sum.count),
                                      rounded(sum.average), rounded(sum.median),  CountCell(sum.min),
                                      CountCell(sum.max),   rounded(sum.stddev)};
    if (styled) cells.push_back(sum.style);
    cells.push_back(sum.name);
    table.Row(std::move(cells));
  }
  *out += fmt::format("{}{}:\n\n{}", out->empty() ? "" : "\n", title, Taken(&table, sums, layout));
}

void AppendSizes(const std::vector<OperationSum>& sums, const SummaryLayout& layout, std::string* out) {
  if (sums.empty()) return;
  TextTable table;
  table.Number("Total (MB)").Number("Count").Number("Avg (MB)").Number("Med (MB)").Number("Min (MB)");
  table.Number("Max (MB)").Number("StdDev (MB)").Name("Operation");
  const auto megabytes = [](double bytes) { return fmt::format("{:.3f}", bytes / 1e6); };
  for (const OperationSum& sum : Top(sums, layout)) {
    if (sum.max == 0) {
      table.Row({"?", CountCell(sum.count), "?", "?", "?", "?", "?", sum.name});
      continue;
    }
    table.Row({megabytes(static_cast<double>(sum.total)), CountCell(sum.count), megabytes(sum.average),
               megabytes(sum.median), megabytes(static_cast<double>(sum.min)),
               megabytes(static_cast<double>(sum.max)), megabytes(sum.stddev), sum.name});
  }
  *out += fmt::format("{}CUDA Memory Operation Summary (by Size):\n\n{}", out->empty() ? "" : "\n",
                      Taken(&table, sums, layout));
}

std::string NotesText(const Summary& summary) {
  std::string out;
  if (summary.dropped > 0) {
    std::string kinds;
    for (const auto& [what, count] : summary.dropped_by) {
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, what);
    }
    out += fmt::format("{} records were lost while recording ({})\n", summary.dropped, kinds);
  }
  if (summary.invalid_rows > 0) {
    out += fmt::format("{} activities have no usable times and were left out\n", summary.invalid_rows);
  }
  for (const std::string& note : summary.notes) out += Printable(note) + "\n";
  return out;
}

}  // namespace

std::string SummaryText(const Summary& summary, const SummaryLayout& layout) {
  std::string out;
  const bool idle = summary.gpu_activities.empty() && summary.host_activities.empty();
  if (idle && summary.api_calls.empty() && summary.nvtx_sums.empty())
    return NotesText(summary) + summary.verdict + "\n";
  if (layout.nsys) {
    AppendSums("NVTX Range Summary", "Instances", "Range", summary.nvtx_sums, layout, &out);
    AppendSums("CUDA API Summary", "Num Calls", "Name", summary.api_sums, layout, &out);
    AppendSums("CUDA Kernel Summary", "Instances", "Name", summary.kernel_sums, layout, &out);
    AppendSums("CUDA Memory Operation Summary (by Time)", "Count", "Operation", summary.memory_time_sums,
               layout, &out);
    AppendSizes(summary.memory_size_sums, layout, &out);
  } else {
    AppendBlock("GPU activities", summary.gpu_activities, layout, &out);
    AppendBlock("Host activities", summary.host_activities, layout, &out);
    AppendBlock("API calls", summary.api_calls, layout, &out);
    if (idle) AppendSums("NVTX Range Summary", "Instances", "Range", summary.nvtx_sums, layout, &out);
  }
  AppendRanges(summary.ranges, summary.place, layout, &out);
  AppendTraffic(summary.traffic, layout.width, &out);
  AppendTasks(summary.tasks, layout.width, &out);
  AppendDevices(summary, layout.width, &out);
  if (summary.waits) out += WaitsText(*summary.waits, layout.width);
  if (summary.input) out += InputUseText(*summary.input, layout.width);
  return out + "\n" + NotesText(summary) + summary.verdict + "\n";
}

}  // namespace lanescope::traces
