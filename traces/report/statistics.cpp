// SPDX-License-Identifier: Apache-2.0
#include "traces/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/statistics.h"
#include "core/time/intervals.h"
#include "traces/read/trace_reader.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

// The time that busy shares are fractions of.
std::vector<Interval> WindowsOf(const TraceRun& run) {
  IntervalSet windows;
  for (const TraceStep& step : run.steps) {
    if (step.counts) windows.Add(step.start_ns, step.end_ns);
  }
  if (run.steps.empty() && !(run.launches.empty() && run.copies.empty())) {
    int64_t start = INT64_MAX, end = INT64_MIN;
    const auto widen = [&](const auto& activity) {
      start = std::min(start, activity.start_ns);
      end = std::max(end, activity.end_ns);
    };
    for (const TraceLaunch& launch : run.launches) widen(launch);
    for (const TraceCopy& copy : run.copies) widen(copy);
    windows.Add(start, end);
  }
  const std::span<const Interval> merged = windows.Union();
  return {merged.begin(), merged.end()};
}

}  // namespace

RunStatistics ComputeStatistics(const TraceRun& run) {
  RunStatistics result;
  std::vector<int64_t> lengths;
  for (const TraceStep& step : run.time_steps()) {
    if (step.counts) lengths.push_back(step.end_ns - step.start_ns);
  }
  result.step_ns = SpreadOf(lengths);
  std::set<int> left_out;  // steps
  for (const TraceStep& step : run.steps) {
    if (step.counts) {
      ++result.steps;
    } else {
      left_out.insert(step.step);
    }
  }

  const std::vector<Interval> windows = WindowsOf(run);
  const int64_t total = TotalLength(windows);
  std::map<int, IntervalSet> launches;
  for (const TraceDevice& device : run.devices) launches[device.id];
  for (const TraceLaunch& launch : run.launches) launches[launch.device].Add(launch.start_ns, launch.end_ns);
  for (auto& [device, set] : launches) {
    result.busy[device] = total == 0 ? 0
                                     : static_cast<double>(IntersectionLength(set.Union(), windows)) /
                                           static_cast<double>(total);
  }

  for (const TraceCopy& copy : run.copies) {
    if (left_out.count(copy.step) > 0) continue;
    CopyTotals& totals = result.copies[static_cast<size_t>(copy.copy_class)];
    ++totals.count;
    totals.bytes = AddSaturating(totals.bytes, copy.bytes);
    totals.ns = AddSaturating(totals.ns, copy.end_ns - copy.start_ns);
  }
  for (const TraceDevice& device : run.devices) result.peak_bytes[device.id] = device.planned_peak;
  for (const TraceMemoryPoint& point : run.memory) {
    int64_t& peak = result.peak_bytes[point.device];
    peak = std::max(peak, point.bytes);
  }
  return result;
}

}  // namespace lanescope::traces
