#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "core/machine.h"
#include "core/printable.h"
#include "traces/summary.h"

namespace lanescope {
namespace {

constexpr std::string_view kHeader =
    "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n";

// "137.90": `digits` significant digits in fixed point of a value that rounds to 1 at least.
std::string Significant(double value, int digits) {
  value = std::max(value, 1.0);
  const int before = value < 10     ? 1
                     : value < 100  ? 2
                     : value < 1000 ? 3
                                    : static_cast<int>(std::log10(value)) + 1;
  return fmt::format("{:.{}f}", value, std::max(digits - before, 0));
}

void AppendBlock(std::string_view title, const std::vector<SummaryRow>& rows, std::string* out) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const SummaryRow& row = rows[i];
    const double average =
        row.calls == 0 ? 0 : static_cast<double>(row.total_ns) / static_cast<double>(row.calls);
    *out += fmt::format("{:>16}  {:>6.2f}%  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {}\n", i == 0 ? title : "",
                        row.time_percent, FormatNvprofTime(static_cast<double>(row.total_ns)), row.calls,
                        FormatNvprofTime(average), FormatNvprofTime(static_cast<double>(row.min_ns)),
                        FormatNvprofTime(static_cast<double>(row.max_ns)), Printable(row.name));
  }
}

void AppendTraffic(const std::vector<TrafficRow>& traffic, std::string* out) {
  if (traffic.empty()) return;
  std::set<std::string> ends;
  std::map<std::pair<std::string, std::string>, const TrafficRow*> cells;
  for (const TrafficRow& row : traffic) {
    ends.insert(row.src);
    ends.insert(row.dst);
    cells[{row.src, row.dst}] = &row;
  }
  *out += "\nTraffic, bytes (copies), from row to column\n";
  *out += fmt::format("{:>10}", "");
  for (const std::string& dst : ends) *out += fmt::format("  {:>22}", dst);
  *out += '\n';
  for (const std::string& src : ends) {
    *out += fmt::format("{:>10}", src);
    for (const std::string& dst : ends) {
      const auto cell = cells.find({src, dst});
      *out += fmt::format(
          "  {:>22}", cell == cells.end()
                          ? std::string("-")
                          : fmt::format("{} ({})", FormatBytes(cell->second->bytes), cell->second->count));
    }
    *out += '\n';
  }
}

std::string Time(int64_t ns) { return FormatNvprofTime(static_cast<double>(ns)); }

// "22.385ms  2.3%"
std::string Share(int64_t ns, int64_t of) {
  return fmt::format("{} {:>5.1f}%", Time(ns),
                     of == 0 ? 0.0 : 100 * static_cast<double>(ns) / static_cast<double>(of));
}

void AppendDeviceLines(std::string_view label, const std::vector<DeviceTime>& devices, std::string* out) {
  for (const DeviceTime& time : devices) {
    const auto share = [&](int64_t ns) { return Share(ns, time.window_ns); };
    *out += fmt::format("{:>10}  {:>9}  {:>9}  {:>16}  {:>16}  {:>16}  {:>16}  {:>16}  {:>16}\n", label,
                        time.device, Time(time.window_ns), share(time.compute_ns), share(time.overlapped_ns),
                        share(time.exposed_ns), share(time.hidden_copies_ns), share(time.exposed_copies_ns),
                        share(time.idle_ns));
    label = "";
  }
}

// The run, and of its steps the fastest, the median one and the slowest; of one step, that one.
void AppendDevices(const Summary& summary, std::string* out) {
  if (summary.devices.empty()) return;
  *out += fmt::format("\n{:>10}  {:>9}  {:>9}  {:>16}  {:>16}  {:>16}  {:>16}  {:>16}  {:>16}\n", "",
                      "Device", "Window", "Compute", "NCCL hidden", "NCCL exposed", "Copies hidden",
                      "Copies exposed", "Idle");
  const bool one_step = summary.step >= 0;
  AppendDeviceLines(one_step ? fmt::format("step {}", summary.step) : "run", summary.devices, out);
  if (one_step || summary.steps.size() < 2) return;
  std::vector<const StepUsage*> by_length;
  for (const StepUsage& step : summary.steps) by_length.push_back(&step);
  std::stable_sort(by_length.begin(), by_length.end(), [](const StepUsage* a, const StepUsage* b) {
    return a->end_ns - a->start_ns < b->end_ns - b->start_ns;
  });
  std::vector<const StepUsage*> shown = {by_length.front(), by_length[(by_length.size() - 1) / 2],
                                         by_length.back()};
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  for (const StepUsage* step : shown) {
    AppendDeviceLines(fmt::format("step {}", step->step), step->devices, out);
  }
  *out += fmt::format("{:>10}  (of {} steps the shortest, the median and the longest; --step N shows one)\n",
                      "", summary.steps.size());
}

void AppendRanges(const std::vector<RangeRow>& rows, std::string* out) {
  if (rows.empty()) return;
  *out += fmt::format("\n{:>10}  {:>9}  {:>10}  {:>8}  {:>12}  NVTX range (kernel that takes most of it)\n",
                      "Kernels", "Launches", "Copies", "Count", "Bytes");
  for (const RangeRow& row : rows) {
    *out += fmt::format("{:>10}  {:>9}  {:>10}  {:>8}  {:>12}  {}{}\n", Time(row.kernel_ns), row.kernels,
                        Time(row.copy_ns), row.copies, FormatBytes(row.copy_bytes), Printable(row.name),
                        row.top_kernel.empty() ? "" : fmt::format(" ({})", Printable(row.top_kernel)));
  }
}

// The layout of "nsys stats".
void AppendSums(std::string_view title, std::string_view count, std::string_view name,
                const std::vector<OperationSum>& sums, std::string* out) {
  if (sums.empty()) return;
  *out += fmt::format("{}{}:\n\n {:>8}  {:>15}  {:>9}  {:>13}  {:>13}  {:>11}  {:>11}  {:>13}  {}\n",
                      out->empty() ? "" : "\n", title, "Time (%)", "Total Time (ns)", count, "Avg (ns)",
                      "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", name);
  for (const OperationSum& sum : sums) {
    *out += fmt::format(" {:>8.1f}  {:>15}  {:>9}  {:>13.1f}  {:>13.1f}  {:>11}  {:>11}  {:>13.1f}  {}\n",
                        sum.percent, sum.total, sum.count, sum.average, sum.median, sum.min, sum.max,
                        sum.stddev, Printable(sum.name));
  }
}

void AppendSizes(const std::vector<OperationSum>& sums, std::string* out) {
  if (sums.empty()) return;
  *out += fmt::format(
      "{}CUDA Memory Operation Summary (by Size):\n\n {:>12}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>11}  "
      "{}\n",
      out->empty() ? "" : "\n", "Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)",
      "StdDev (MB)", "Operation");
  for (const OperationSum& sum : sums) {
    *out += fmt::format(" {:>12.3f}  {:>9}  {:>10.3f}  {:>10.3f}  {:>10.3f}  {:>10.3f}  {:>11.3f}  {}\n",
                        static_cast<double>(sum.total) / 1e6, sum.count, sum.average / 1e6, sum.median / 1e6,
                        static_cast<double>(sum.min) / 1e6, static_cast<double>(sum.max) / 1e6,
                        sum.stddev / 1e6, sum.name);
  }
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

std::string FormatNvprofTime(double ns) {
  // A value that would round to 1000 of a unit is 1 of the next.
  if (ns < 999.5) return fmt::format("{:.0f}ns", ns);
  if (ns < 999.995e3) return Significant(ns / 1e3, 5) + "us";
  if (ns < 999.995e6) return Significant(ns / 1e6, 5) + "ms";
  return Significant(ns / 1e9, 6) + "s";
}

std::string SummaryText(const Summary& summary, bool nsys) {
  std::string out;
  const bool empty =
      summary.gpu_activities.empty() && summary.host_activities.empty() && summary.api_calls.empty();
  if (empty) return NotesText(summary) + summary.verdict + "\n";
  if (nsys) {
    AppendSums("CUDA Kernel Summary", "Instances", "Name", summary.kernel_sums, &out);
    AppendSums("CUDA Memory Operation Summary (by Time)", "Count", "Operation", summary.memory_time_sums,
               &out);
    AppendSizes(summary.memory_size_sums, &out);
  } else {
    out += kHeader;
    AppendBlock("GPU activities:", summary.gpu_activities, &out);
    AppendBlock("Host activities:", summary.host_activities, &out);
    AppendBlock("API calls:", summary.api_calls, &out);
  }
  AppendRanges(summary.ranges, &out);
  AppendTraffic(summary.traffic, &out);
  AppendDevices(summary, &out);
  return out + "\n" + NotesText(summary) + summary.verdict + "\n";
}

}  // namespace lanescope
