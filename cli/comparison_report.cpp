// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/ablation_report.h"
#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/wire_report.h"
#include "core/base/statistics.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "exec/messages/pacer.h"
#include "study/compare/comparison_json.h"
#include "study/job/this_machine.h"

namespace lanescope::cli {
namespace {

using study::Comparison;
using study::ComparisonRow;
using study::PerStep;
using study::ShareOf;

bool HasFigures(const ComparisonRow& row) { return !row.failed && (row.measured || row.predicted); }
bool AnyMeasured(const Comparison& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(),
                     [](const ComparisonRow& row) { return HasFigures(row) && row.measured.has_value(); });
}

// "4.07 us each", or "3.9 us to 4.2 us each".
std::string PairsText(const std::vector<int64_t>& pairs) {
  const auto [least, most] = std::ranges::minmax(pairs);
  return least == most ? TimeText(least) + " each"
                       : fmt::format("{} to {} each", TimeText(least), TimeText(most));
}

// Half of the middle half, as a share of the median.
std::string SpreadText(const Spread& step) { return PercentText(0.5 * (step.p75 - step.p25) / step.median); }

int64_t CriticalPathNs(const ComparisonRow& row) {
  if (row.measured) return row.measured->critical_path_ns;
  const sims::CriticalPath& path = row.predicted->prediction.critical_path;
  return path.launch_ns + path.copy_ns;
}

std::string RemarkOf(const ComparisonRow& row) {
  if (!row.measured) return "";
  std::string remark = row.measured->oversubscribed ? "oversubscribed" : "";
  if (row.measured->all_steps_count) remark += remark.empty() ? "disturbed" : ", disturbed";
  return remark;
}

void PrintTimes(const Comparison& comparison) {
  const bool any_measured = AnyMeasured(comparison);
  TextTable table;
  table.Name("Row");
  if (any_measured) table.Group("Measured").Number("step").Number("+-");
  table.Group("Predicted").Number("step").Number("low").Number("high").Group("");
  table.Number("Speed").Number("Path").Text("");
  const double first = HasFigures(comparison.rows.front()) ? comparison.rows.front().step_ns() : 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (!HasFigures(row)) continue;
    std::vector<std::string> cells = {row.label()};
    if (row.measured) {
      const Spread& step = *row.measured->statistics.step_ns;
      cells.insert(cells.end(), {TimeText(step.median), SpreadText(step)});
    } else if (any_measured) {
      cells.insert(cells.end(), {"-", "-"});
    }
    if (row.predicted) {
      const sims::Prediction& p = row.predicted->prediction;
      for (const int64_t ns : {p.step_ns, p.low_ns, p.high_ns}) cells.push_back(TimeText(ns));
    } else {
      cells.insert(cells.end(), {"-", "-", "-"});
    }
    const double time = row.step_ns();
    cells.push_back(time > 0 && first > 0 ? fmt::format("{:.3f}x", first / time) : "-");
    cells.push_back(TimeText(CriticalPathNs(row)));
    cells.push_back(RemarkOf(row));
    table.Row(std::move(cells));
  }
  const auto& bounds = comparison.bounds;
  const bool one_bound = std::all_of(bounds.begin(), bounds.end(), [&](const study::GraphBound& other) {
    return other.bound.step_ns == bounds.front().bound.step_ns &&
           other.bound.reason == bounds.front().bound.reason;
  });
  for (const study::GraphBound& bound : bounds) {
    if (one_bound && &bound != &bounds.front()) break;
    std::vector<std::string> cells = {one_bound ? "lower bound" : "lower bound of " + bound.graph};
    if (any_measured) cells.insert(cells.end(), {"-", "-"});
    const auto ns = static_cast<double>(bound.bound.step_ns);
    cells.insert(cells.end(),
                 {TimeText(ns), "-", "-", ns > 0 && first > 0 ? fmt::format("{:.3f}x", first / ns) : "-", "-",
                  std::string(bound.bound.reason)});
    table.Row(std::move(cells));
  }
  if (!table.empty()) PrintText(table.Take(LineWidth()));
  for (const ComparisonRow& row : comparison.rows) {
    if (row.failed) Print("{} failed: {}: {}\n", row.label(), row.failed->code, OneLine(row.failed->message));
  }
}

// How commands of GPUs were timed: in the same way in all rows.
void PrintTiming(const Comparison& comparison) {
  std::vector<int64_t> pairs;
  bool by_profiler = false;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.measured || row.measured->command_timing == CommandTiming::kThreads) continue;
    pairs.push_back(row.measured->pair_ns);
    by_profiler = by_profiler || row.measured->command_timing == CommandTiming::kProfiler;
  }
  if (pairs.empty()) return;
  if (by_profiler) {
    Print(
        "Steps are timed while nothing in them is; commands of GPUs in the second half of each round, by a "
        "profiler\n");
    return;
  }
  Print(
      "Steps are timed while nothing in them is; commands of GPUs in every other step, by pairs of events, "
      "of "
      "which {} are taken out\n",
      PairsText(pairs));
}

void PrintWideIntervals(const Comparison& comparison) {
  for (const ComparisonRow& row : comparison.rows) {
    if (!HasFigures(row) || !row.predicted) continue;
    const std::string wide = study::WideIntervalOf(row.predicted->prediction);
    if (!wide.empty()) Print("{}: {}\n", row.label(), wide);
  }
}

// Prints how long steps wait for input, as measured and as predicted.
void PrintInput(const Comparison& comparison) {
  TextTable table;
  table.Name("Waits for input").Group("Measured").Number("wait").Number("fill").Text("");
  table.Group("Predicted").Number("wait").Number("fill").Group("").Name("Queue");
  for (const ComparisonRow& row : comparison.rows) {
    if (!HasFigures(row)) continue;
    const auto* measured =
        row.measured && row.measured->summary.input ? &*row.measured->summary.input : nullptr;
    const auto* predicted =
        row.predicted && row.predicted->prediction.input ? &*row.predicted->prediction.input : nullptr;
    if (measured == nullptr && predicted == nullptr) continue;
    std::vector<std::string> cells = {row.label(), "-", "-", "", "-", "-", ""};
    std::string queue;
    if (predicted != nullptr) {
      const auto first = static_cast<size_t>(predicted->pipeline.stages[0].takes[0].queue);
      queue = predicted->pipeline.queues[first].name;
      cells[4] = PercentText(predicted->result.wait_ns / predicted->result.step_ns);
      cells[5] = fmt::format("{:.1f}", predicted->result.queues[first].mean_fill);
    }
    if (measured != nullptr && !measured->queues.empty()) {
      auto use = std::ranges::find(measured->queues, queue, &traces::QueueUse::name);
      if (use == measured->queues.end())
        use = std::ranges::max_element(measured->queues, {}, &traces::QueueUse::starved_ns);
      queue = use->name;
      cells[1] = PercentText(measured->wait_share());
      cells[2] = use->mean_fill < 0 ? "-" : fmt::format("{:.1f}", use->mean_fill);
    }
    cells[6] = queue;
    table.Row(std::move(cells));
  }
  if (!table.empty()) PrintText("\n" + table.Take(LineWidth()));
}

// How far predictions are from measurements, and what stands behind them.
void PrintErrors(const Comparison& comparison) {
  size_t repeats = 0;
  for (const ComparisonRow& row : comparison.rows) repeats = std::max(repeats, row.repeats.size());
  if (repeats <= 1) repeats = 0;
  const bool any_measured = AnyMeasured(comparison);
  TextTable table;
  table.Name("Row");
  if (any_measured) table.Number("Error").Text("");
  if (repeats > 0) table.Group("in repeats");
  for (size_t r = 0; r < repeats; ++r) table.Number(std::to_string(r + 1));
  if (repeats > 0) table.Group("");
  if (any_measured) table.Number("Noise").Number("Disturbed");
  table.Group("Time of commands").Number("uncalibrated").Number("extrapolated");
  for (const ComparisonRow& row : comparison.rows) {
    if (!HasFigures(row)) continue;
    std::vector<std::string> cells = {row.label()};
    if (any_measured) {
      cells.insert(cells.end(), {row.error() ? SignedPercentText(*row.error()) : "-",
                                 row.predicted && row.predicted->in_sample ? "*" : ""});
    }
    for (size_t r = 0; r < repeats; ++r)
      cells.push_back(r < row.repeats.size() ? SignedPercentText(row.repeats[r].error()) : "-");
    if (row.measured) {
      cells.push_back(PercentText(row.measured->noise));
      cells.push_back(fmt::format("{} of {}", row.measured->disturbed_steps, row.measured->steps));
    } else if (any_measured) {
      cells.insert(cells.end(), {"-", "-"});
    }
    cells.push_back(row.predicted ? PercentText(row.predicted->prediction.uncalibrated_share()) : "-");
    cells.push_back(row.predicted ? PercentText(row.predicted->prediction.extrapolated_share()) : "-");
    table.Row(std::move(cells));
  }
  if (!table.empty()) PrintText("\n" + table.Take(LineWidth()));
}

// Prints what disturbed the steps, and which programs, where hardly any quiet time came.
void PrintDisturbance(const Comparison& comparison) {
  constexpr double kLeastShown = 0.005;  // processors
  double others = 0, stolen = 0;
  int disturbed = 0, other_speed = 0;
  bool quiet = true;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.measured) continue;
    disturbed += row.measured->disturbed_steps;
    other_speed += row.measured->other_speed_steps;
    quiet = quiet && row.measured->quiet;
    others = std::max(others, ShareOf(row.measured->disturbance.others_ns, *row.measured));
    stolen = std::max(stolen, ShareOf(row.measured->disturbance.stolen_ns, *row.measured));
  }
  if (disturbed > 0)
    Print(
        "\nDisturbed steps do not count where a third of a row is left: {} beside other programs, {} while "
        "cores or GPUs had another speed. Of a row called disturbed all count\n",
        disturbed - other_speed, other_speed);
  if (quiet) return;
  if (others < kLeastShown && stolen < kLeastShown) {
    PrintText(
        "\nDo not rely on these figures: cores or GPUs hardly ever had their usual speed, or steps are too "
        "short to be judged; compare again, with more --steps\n");
    return;
  }
  Print(
      "\nDo not rely on these figures: hardly any quiet time came. Other programs took up to {:.2f} "
      "processors, a hypervisor {:.2f}; end what runs beside and compare again\n",
      others, stolen);
}

void PrintEffects(const Comparison& comparison) {
  std::vector<Ablated> rows;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.predicted)
      rows.push_back({row.strategy, row.predicted->prediction.step_ns, row.predicted->without_ns});
  }
  PrintAblation(rows);
}

std::array<sims::CopyTraffic, kNumCopyClasses> CopiesOf(const ComparisonRow& row) {
  return row.measured ? PerStep(row.measured->statistics) : row.predicted->prediction.copies;
}

void PrintCopies(const Comparison& comparison) {
  TextTable table;
  table.Name("Copies in a step").Group("Between devices").Number("count").Number("bytes").Number("time");
  table.Group("From and to the host").Number("count").Number("bytes").Number("time");
  for (const ComparisonRow& row : comparison.rows) {
    if (!HasFigures(row)) continue;
    const auto copies = CopiesOf(row);
    const sims::CopyTraffic& between = copies[static_cast<size_t>(CopyClass::kDeviceToDevice)];
    const sims::CopyTraffic& in = copies[static_cast<size_t>(CopyClass::kHostToDevice)];
    const sims::CopyTraffic& out = copies[static_cast<size_t>(CopyClass::kDeviceToHost)];
    table.Row({row.label(), std::to_string(between.count), FormatBytes(between.bytes), TimeText(between.ns),
               std::to_string(in.count + out.count), FormatBytes(in.bytes + out.bytes),
               TimeText(in.ns + out.ns)});
  }
  if (!table.empty()) PrintText("\n" + table.Take(LineWidth()));
}

// As many devices in one table as fit a narrow terminal.
void PrintDevices(const Comparison& comparison) {
  constexpr int kDevicesInATable = 3;
  const Machine& machine = comparison.machine;
  for (int first = 0; first < machine.num_devices(); first += kDevicesInATable) {
    const DeviceId end(std::min(first + kDevicesInATable, machine.num_devices()));
    TextTable table;
    table.Name("Busy; peak memory");
    for (DeviceId d(first); d < end; ++d) {
      const DeviceSpec& device = machine.device(d);
      table.Group(device.memory_bytes > 0
                      ? fmt::format("{} of {}", device.local_name(), FormatBytes(device.memory_bytes))
                      : device.local_name());
      table.Number("busy").Number("peak");
    }
    for (const ComparisonRow& row : comparison.rows) {
      if (!HasFigures(row)) continue;
      std::vector<std::string> cells = {row.label()};
      for (DeviceId d(first); d < end; ++d) {
        double busy = row.measured ? 0 : row.predicted->prediction.busy[d];
        if (row.measured && row.measured->busy.count(d) > 0) busy = row.measured->busy.at(d);
        cells.push_back(PercentText(busy));
        cells.push_back(FormatBytes(row.schedule ? row.schedule->peak_bytes[d] : 0));
      }
      table.Row(std::move(cells));
    }
    if (!table.empty()) PrintText("\n" + table.Take(LineWidth()));
  }
}

void PrintDominating(const Comparison& comparison) {
  constexpr size_t kRowsShown = 3;
  TextTable table;
  table.Name("What takes longest")
      .Number("Time(%)")
      .Number("Time")
      .Number("Calls")
      .Number("Avg")
      .Name("Name");
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.measured) continue;
    const auto& activities = row.measured->summary.gpu_activities;
    for (size_t i = 0; i < std::min(kRowsShown, activities.size()); ++i) {
      const traces::SummaryRow& a = activities[i];
      table.Row({i == 0 ? row.label() : "", PercentText(a.time_percent / 100, 2), TimeText(a.total_ns),
                 std::to_string(a.calls), TimeText(a.avg_ns), a.name});
    }
  }
  if (!table.empty()) PrintText("\n" + table.Take(LineWidth()));
}

}  // namespace

void PrintComparison(const study::Comparison& comparison, bool details) {
  Print("{}\n\n", comparison.verdict);
  const bool emulated = study::IsEmulated(comparison.machine);
  Print("On {}{}; predictions {}{}\n", comparison.machine.name,
        emulated ? " (emulated: virtual GPUs made of host threads)" : "", comparison.prediction_of,
        comparison.prediction_of.starts_with("calibrated on run")
            ? "; * marks that row, all others are held out"
            : "");
  if (comparison.link_slowdown != 1)
    Print("Links are {:.2f} times slower than in the machine file, as this machine's arithmetic is\n",
          comparison.link_slowdown);
  Print("\n");
  PrintTimes(comparison);
  PrintTiming(comparison);
  PrintWideIntervals(comparison);
  if (details) PrintInput(comparison);
  if (details) PrintErrors(comparison);
  PrintDisturbance(comparison);
  PrintEffects(comparison);
  PrintWire(comparison);
  if (details) {
    PrintCopies(comparison);
    PrintDevices(comparison);
    PrintDominating(comparison);
  }
  if (!comparison.trace.empty()) Print("\ntrace: {}\n", comparison.trace);
}

}  // namespace lanescope::cli
