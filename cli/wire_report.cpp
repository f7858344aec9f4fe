// SPDX-License-Identifier: Apache-2.0
#include "cli/wire_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/report.h"
#include "core/base/text_table.h"
#include "core/base/units.h"

namespace lanescope::cli {
namespace {

using study::Comparison;
using study::ComparisonRow;

bool IsShown(const ComparisonRow& row) { return !row.failed && row.schedule.has_value(); }

// The row of the same graph and strategy whose tensors go as they are: the one before it.
const ComparisonRow* ExactRowOf(const Comparison& comparison, size_t row) {
  if (comparison.rows[row].wire == WireFormat::kFloat32 || row == 0) return nullptr;
  const ComparisonRow& exact = comparison.rows[row - 1];
  return IsShown(exact) ? &exact : nullptr;
}

void PrintTraffic(const Comparison& comparison) {
  TextTable table;
  table.Name("Between tasks, a step").Number("Messages").Number("Bytes").Number("of float32").Number("Step");
  table.Number("Speed");
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparisonRow& row = comparison.rows[i];
    if (!IsShown(row)) continue;
    const study::WireTraffic traffic = study::TrafficBetweenTasks(comparison.machine, *row.schedule);
    std::vector<std::string> cells = {row.label(), std::to_string(traffic.messages),
                                      FormatBytes(traffic.bytes)};
    const ComparisonRow* exact = ExactRowOf(comparison, i);
    const int64_t whole =
        exact == nullptr ? 0 : study::TrafficBetweenTasks(comparison.machine, *exact->schedule).bytes;
    cells.push_back(whole > 0 ? PercentText(static_cast<double>(traffic.bytes) / static_cast<double>(whole))
                              : "-");
    cells.push_back(TimeText(row.step_ns()));
    const bool has_both = exact != nullptr && row.step_ns() > 0;
    cells.push_back(has_both ? fmt::format("{:.3f}x", exact->step_ns() / row.step_ns()) : "-");
    table.Row(std::move(cells));
  }
  if (!table.empty()) PrintText("\n" + table.Take(LineWidth()));
}

// 1, 2, 5, 10, ... and the last.
std::vector<size_t> StepsShown(size_t last) {
  std::set<size_t> steps;
  for (size_t ten = 1; ten <= last; ten *= 10) {
    for (const size_t step : {ten, 2 * ten, 5 * ten}) {
      if (step <= last) steps.insert(step);
    }
  }
  steps.insert(last);
  return {steps.begin(), steps.end()};
}

// Largest distance of a loss from that of the same step, as a share of it.
double Distance(const std::vector<double>& losses, const std::vector<double>& exact) {
  double largest = 0;
  for (size_t i = 0; i < std::min(losses.size(), exact.size()); ++i) {
    const double distance = std::abs(losses[i] - exact[i]);
    if (!(distance <= 0))
      largest = std::max(largest, exact[i] != 0 ? distance / std::abs(exact[i]) : HUGE_VAL);
  }
  return largest;
}

void PrintLosses(const Comparison& comparison) {
  size_t last = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (IsShown(row) && row.measured && !row.measured->losses.empty())
      last = last == 0 ? row.measured->losses.size() : std::min(last, row.measured->losses.size());
  }
  if (last == 0) return;
  const std::vector<size_t> steps = StepsShown(last);
  TextTable table;
  table.Name("Loss after steps");
  for (const size_t step : steps) table.Number(std::to_string(step));
  table.Number("Apart at most");
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparisonRow& row = comparison.rows[i];
    if (!IsShown(row) || !row.measured || row.measured->losses.size() < last) continue;
    std::vector<std::string> cells = {row.label()};
    for (const size_t step : steps) cells.push_back(fmt::format("{:.5g}", row.measured->losses[step - 1]));
    const ComparisonRow* exact = ExactRowOf(comparison, i);
    const bool has_both = exact != nullptr && exact->measured;
    cells.push_back(has_both ? PercentText(Distance(row.measured->losses, exact->measured->losses), 3) : "-");
    table.Row(std::move(cells));
  }
  if (!table.empty()) PrintText("\n" + table.Take(LineWidth()));
}

}  // namespace

void PrintWire(const Comparison& comparison) {
  const bool any = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                               [](const ComparisonRow& row) { return row.wire != WireFormat::kFloat32; });
  if (!any) return;
  PrintTraffic(comparison);
  PrintLosses(comparison);
}

}  // namespace lanescope::cli
