#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/comparison.h"
#include "cli/print.h"
#include "cli/report.h"
#include "exec/pacer.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;

std::array<CopyTraffic, kNumCopyClasses> PerStep(const RunStatistics& statistics) {
  std::array<CopyTraffic, kNumCopyClasses> copies{};
  const int64_t steps = std::max<int64_t>(1, statistics.steps);
  for (size_t c = 0; c < copies.size(); ++c) {
    const CopyTotals& total = statistics.copies[c];
    copies[c] = {total.count / steps, total.bytes / steps, total.ns / steps};
  }
  return copies;
}

json MeasuredJson(const Machine& machine, const Schedule& schedule, const MeasuredRow& row) {
  const Spread& step = *row.statistics.step_ns;
  json busy, peak;
  for (int d = 0; d < machine.num_devices(); ++d) {
    const auto used = row.busy.find(d);
    busy[machine.device(d).local_name()] = used == row.busy.end() ? 0.0 : used->second;
    peak[machine.device(d).local_name()] = schedule.peak_bytes[static_cast<size_t>(d)];
  }
  return {{"step_ns",
           {{"median", std::llround(step.median)},
            {"p25", std::llround(step.p25)},
            {"p75", std::llround(step.p75)},
            {"min", step.min},
            {"max", step.max}}},
          {"steps", row.statistics.steps},
          {"busy", busy},
          {"peak_bytes", peak},
          {"copies", CopiesJson(PerStep(row.statistics))},
          {"critical_path_ns", row.critical_path_ns}};
}

json RowJson(const Comparison& comparison, const ComparisonRow& row) {
  json result;
  result["graph"] = row.graph;
  result["strategy"] = row.strategy;
  result["run"] = {{"measured", row.measured ? json(row.measured->run) : json(nullptr)},
                   {"simulated", row.predicted ? json(row.predicted->run) : json(nullptr)}};
  result["in_sample"] = row.predicted && row.predicted->in_sample;
  result["oversubscribed"] = row.measured && row.measured->oversubscribed;
  result["failed"] =
      row.failed ? json{{"code", row.failed->code}, {"message", row.failed->message}} : json(nullptr);
  result["measured"] =
      row.measured ? MeasuredJson(comparison.machine, row.step->schedule, *row.measured) : json(nullptr);
  result["predicted"] =
      row.predicted ? PredictionJson(comparison.machine, row.predicted->prediction) : json(nullptr);
  if (row.predicted) result["predicted"]["steps"] = row.predicted->steps;
  result["error"] = row.error() ? json(*row.error()) : json(nullptr);
  result["repeats"] = json::array();
  for (const RepeatedRow& repeat : row.repeats)
    result["repeats"].push_back({{"measured_ns", std::llround(repeat.measured_ns)},
                                 {"predicted_ns", repeat.predicted_ns},
                                 {"error", repeat.error()}});
  result["noise"] = row.measured ? json(row.measured->noise) : json(nullptr);
  result["uncalibrated_share"] =
      row.predicted ? json(row.predicted->prediction.uncalibrated_share) : json(nullptr);
  return result;
}

void PrintTimes(const Comparison& comparison, int width) {
  size_t repeats = 0;
  for (const ComparisonRow& row : comparison.rows) repeats = std::max(repeats, row.repeats.size());
  const size_t repeats_width = repeats > 1 ? 7 * repeats + 1 : 0;
  Print("{:<{}} {:>20} {:>34} {:>8}{:>{}} {:>7} {:>8}\n", "", width, "Measured step", "Predicted step",
        "Error", repeats > 1 ? "in repeats" : "", repeats_width, "Noise", "Speed");
  const double first = comparison.rows.front().step_ns();
  for (const ComparisonRow& row : comparison.rows) {
    if (row.failed) {
      Print("{:<{}} {}: {}\n", row.label(), width, row.failed->code, OneLine(row.failed->message));
      continue;
    }
    const std::string measured =
        row.measured
            ? fmt::format(
                  "{} +- {:.1f}%", TimeText(row.measured->statistics.step_ns->median),
                  50 * (row.measured->statistics.step_ns->p75 - row.measured->statistics.step_ns->p25) /
                      row.measured->statistics.step_ns->median)
            : "-";
    std::string predicted = "-";
    if (row.predicted) {
      const Prediction& p = row.predicted->prediction;
      predicted =
          fmt::format("{} ({} to {})", TimeText(static_cast<double>(p.step_ns)),
                      TimeText(static_cast<double>(p.low_ns)), TimeText(static_cast<double>(p.high_ns)));
    }
    const std::string error =
        row.error() ? fmt::format("{:+.1f}%{}", 100 * *row.error(), row.predicted->in_sample ? "*" : "")
                    : "-";
    const std::string noise = row.measured ? fmt::format("{:.1f}%", 100 * row.measured->noise) : "-";
    const double time = row.step_ns();
    std::string in_repeats;
    for (const RepeatedRow& repeat : row.repeats)
      in_repeats += fmt::format(" {:>5.1f}%", 100 * repeat.error());
    if (repeats <= 1) in_repeats.clear();
    Print("{:<{}} {:>20} {:>34} {:>8}{:>{}} {:>7} {:>7.3f}x{}\n", row.label(), width, measured, predicted,
          error, in_repeats, repeats_width, noise, time > 0 ? first / time : 0,
          row.measured && row.measured->oversubscribed ? "  oversubscribed" : "");
  }
}

std::array<CopyTraffic, kNumCopyClasses> CopiesOf(const ComparisonRow& row) {
  return row.measured ? PerStep(row.measured->statistics) : row.predicted->prediction.copies;
}

void PrintCopies(const Comparison& comparison, int width) {
  Print("\n{:<{}} {:>32} {:>26} {:>14}\n", "Copies in a step", width, "Between devices",
        "From and to the host", "Critical path");
  for (const ComparisonRow& row : comparison.rows) {
    if (row.failed || (!row.measured && !row.predicted)) continue;
    const auto copies = CopiesOf(row);
    const CopyTraffic& between = copies[static_cast<size_t>(CopyClass::kDeviceToDevice)];
    const CopyTraffic& in = copies[static_cast<size_t>(CopyClass::kHostToDevice)];
    const CopyTraffic& out = copies[static_cast<size_t>(CopyClass::kDeviceToHost)];
    const int64_t path = row.measured ? row.measured->critical_path_ns
                                      : row.predicted->prediction.critical_path.launch_ns +
                                            row.predicted->prediction.critical_path.copy_ns;
    Print("{:<{}} {:>4} {:>12} {:>14} {:>4} {:>10} {:>10} {:>14}\n", row.label(), width, between.count,
          FormatBytes(between.bytes), TimeText(static_cast<double>(between.ns)), in.count + out.count,
          FormatBytes(in.bytes + out.bytes), TimeText(static_cast<double>(in.ns + out.ns)),
          TimeText(static_cast<double>(path)));
  }
}

void PrintDevices(const Comparison& comparison, int width) {
  const Machine& machine = comparison.machine;
  Print("\n{:<{}}", "Busy; peak memory of the limit", width);
  for (const DeviceSpec& device : machine.devices) Print(" {:>26}", device.local_name());
  Print("\n");
  for (const ComparisonRow& row : comparison.rows) {
    if (row.failed || (!row.measured && !row.predicted)) continue;
    Print("{:<{}}", row.label(), width);
    for (int d = 0; d < machine.num_devices(); ++d) {
      const auto i = static_cast<size_t>(d);
      double busy = row.measured ? 0 : row.predicted->prediction.busy[i];
      if (row.measured && row.measured->busy.count(d) > 0) busy = row.measured->busy.at(d);
      const int64_t peak = row.step ? row.step->schedule.peak_bytes[i] : 0;
      const int64_t limit = machine.device(d).memory_bytes;
      Print(" {:>26}", fmt::format("{:.1f}%; {}{}", 100 * busy, FormatBytes(peak),
                                   limit > 0 ? fmt::format(" of {}", FormatBytes(limit)) : ""));
    }
    Print("\n");
  }
}

void PrintDominating(const Comparison& comparison) {
  constexpr size_t kRowsShown = 4;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.measured) continue;
    Print("\n{}\n{:>8} {:>10} {:>8} {:>10} {:>10} {:>10}  {}\n", row.label(), "Time(%)", "Time", "Calls",
          "Avg", "Min", "Max", "Name");
    const auto& activities = row.measured->summary.gpu_activities;
    for (size_t i = 0; i < std::min(kRowsShown, activities.size()); ++i) {
      const SummaryRow& a = activities[i];
      Print("{:>7.2f}% {:>10} {:>8} {:>10} {:>10} {:>10}  {}\n", a.time_percent,
            FormatNvprofTime(static_cast<double>(a.total_ns)), a.calls,
            FormatNvprofTime(static_cast<double>(a.avg_ns)), FormatNvprofTime(static_cast<double>(a.min_ns)),
            FormatNvprofTime(static_cast<double>(a.max_ns)), a.name);
    }
  }
}

}  // namespace

double ComparisonRow::step_ns() const {
  if (measured) return measured->statistics.step_ns->median;
  return predicted ? static_cast<double>(predicted->prediction.step_ns) : 0;
}

std::optional<double> ComparisonRow::error() const {
  if (!measured || !predicted) return std::nullopt;
  const double median = measured->statistics.step_ns->median;
  return (static_cast<double>(predicted->prediction.step_ns) - median) / median;
}

void PrintComparison(const Comparison& comparison) {
  int width = 30;
  for (const ComparisonRow& row : comparison.rows)
    width = std::max(width, static_cast<int>(row.label().size()));
  const bool emulated = IsEmulated(comparison.machine);
  Print("On {}{}; predictions {}{}\n", comparison.machine.name,
        emulated ? " (emulated: virtual GPUs made of host threads)" : "", comparison.prediction_of,
        comparison.prediction_of.starts_with("calibrated on run")
            ? "; * marks that row, all others are held out"
            : "");
  if (comparison.link_slowdown != 1)
    Print("Links are {:.2f} times slower than in the machine file, as this machine's arithmetic is\n",
          comparison.link_slowdown);
  Print("\n");
  PrintTimes(comparison, width);
  PrintCopies(comparison, width);
  PrintDevices(comparison, width);
  PrintDominating(comparison);
  if (!comparison.trace.empty()) Print("\ntrace: {}\n", comparison.trace);
}

json ComparisonJson(const Comparison& comparison) {
  json rows = json::array();
  for (const ComparisonRow& row : comparison.rows) rows.push_back(RowJson(comparison, row));
  return {{"trace", comparison.trace.empty() ? json(nullptr) : json(comparison.trace)},
          {"machine", json::parse(MachineToJson(comparison.machine))},
          {"rows", rows},
          {"verdict", comparison.verdict},
          {"prediction_of", comparison.prediction_of},
          {"replay_error", comparison.replay_error ? json(*comparison.replay_error) : json(nullptr)},
          {"link_slowdown", comparison.link_slowdown}};
}

}  // namespace lanescope::cli
