// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/runs/step_range.h"
#include "study/compare/comparison.h"

namespace lanescope::study {
namespace {

// Where the row's step time lies: a measured one within its noise, a predicted one in its interval.
StepRange RangeOf(const ComparisonRow& row) {
  if (row.measured) {
    const double half = row.step_ns() * row.measured->noise;
    return {row.step_ns(), std::max(0.0, row.step_ns() - half), row.step_ns() + half};
  }
  const sims::Prediction& prediction = row.predicted->prediction;
  return {row.step_ns(), static_cast<double>(prediction.low_ns), static_cast<double>(prediction.high_ns)};
}

bool HasTime(const ComparisonRow& row) { return !row.failed && (row.measured || row.predicted); }

std::string HiddenClause(const ComparisonRow& row) {
  if (!row.measured) return "";
  const traces::Communication& communication = row.measured->summary.communication;
  const auto copying = static_cast<double>(communication.exposed_ns + communication.overlapped_ns);
  const double hidden = copying > 0 ? static_cast<double>(communication.overlapped_ns) / copying : 0;
  return hidden < 0.1
             ? " and nothing hides them"
             : fmt::format(" and {} of the copying is hidden by computation", PercentText(hidden, 0));
}

double BusyOf(const ComparisonRow& row, DeviceId device) {
  if (row.measured) {
    const auto busy = row.measured->busy.find(device);
    return busy == row.measured->busy.end() ? 0 : busy->second;
  }
  return row.predicted->prediction.busy.Contains(device) ? row.predicted->prediction.busy[device] : 0;
}

// The devices that work in `other` alone: "GPU:1 is idle"; empty where there are none.
std::string IdleClause(const Machine& machine, const ComparisonRow& row, const ComparisonRow& other) {
  constexpr double kIdle = 0.01, kWorks = 0.05;
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> idle;
  for (const DeviceId device : machine.devices.ids()) {
    if (device == machine.host()) continue;
    if (BusyOf(row, device) < kIdle && BusyOf(other, device) >= kWorks)
      idle.push_back(machine.device(device).local_name());
  }
  if (idle.empty()) return "";
  if (idle.size() > kMostNamed) return fmt::format("{} devices are idle", idle.size());
  return fmt::format("{} {} idle", fmt::join(idle, ", "), idle.size() == 1 ? "is" : "are");
}

// For a row that copies nothing and leaves no device idle: what works longest in it.
std::string BusiestClause(const Machine& machine, const ComparisonRow& row) {
  DeviceId busiest;
  for (const DeviceId device : machine.devices.ids()) {
    if (!busiest.exists() || BusyOf(row, device) > BusyOf(row, busiest)) busiest = device;
  }
  if (!busiest.exists() || BusyOf(row, busiest) <= 0) return "its commands take longer";
  return fmt::format("{} computes for {} of its step", machine.device(busiest).local_name(),
                     PercentText(BusyOf(row, busiest), 0));
}

// Why `row` is slower than `other`: what the copies between devices add up to beside its step, which is no
// share of that where they overlap, or what goes from task to task instead, and how much of all copying runs
// beside computation; where that is little, the devices that it leaves idle.
std::string ReasonClause(const Machine& machine, const ComparisonRow& row, const ComparisonRow& other) {
  constexpr double kNotable = 0.1;  // of the step
  int64_t count = 0, ns = 0;
  const auto device_to_device = static_cast<size_t>(CopyClass::kDeviceToDevice);
  if (row.measured) {
    const traces::CopyTotals& total = row.measured->statistics.copies[device_to_device];
    const int64_t steps = std::max<int64_t>(1, row.measured->statistics.steps);
    count = total.count / steps;
    ns = total.ns / steps;
  } else {
    count = row.predicted->prediction.copies[device_to_device].count;
    ns = row.predicted->prediction.copies[device_to_device].ns;
  }
  const WireTraffic messages = row.schedule ? TrafficBetweenTasks(machine, *row.schedule) : WireTraffic();
  if (count == 0 && messages.messages > 0) {
    return fmt::format("its {} messages between tasks carry {}{}", messages.messages,
                       FormatBytes(messages.bytes), HiddenClause(row));
  }
  const std::string idle = IdleClause(machine, row, other);
  if (!idle.empty() && static_cast<double>(ns) < kNotable * row.step_ns()) return idle;
  if (count == 0) return BusiestClause(machine, row);
  return fmt::format("its {} device-to-device copies add up to {} of the step{}", count,
                     PercentText(static_cast<double>(ns) / row.step_ns(), 0), HiddenClause(row));
}

// From which bandwidth on `row` beats `against`, by the sweep.
std::string CrossingClause(const Comparison& comparison, int row, int against) {
  if (!comparison.sweep) return "";
  const auto curve_of = [&](int r) {
    const auto& rows = comparison.sweep_rows;
    const auto found = std::find(rows.begin(), rows.end(), r);
    return found == rows.end() ? -1 : static_cast<int>(found - rows.begin());
  };
  const int a = curve_of(row), b = curve_of(against);
  if (a < 0 || b < 0) return "";
  const std::string& name = comparison.rows[static_cast<size_t>(row)].label();
  const std::string& other = comparison.rows[static_cast<size_t>(against)].label();
  for (const sims::SweepCrossing& crossing : comparison.sweep->crossings) {
    if (crossing.above == a && crossing.below == b)
      return fmt::format("; {} wins above {}", name, FormatBandwidth(crossing.bandwidth));
  }
  for (const sims::SweepCrossing& crossing : comparison.sweep->crossings) {
    if (crossing.below == a && crossing.above == b) {
      return fmt::format("; {} wins below {}", name, FormatBandwidth(crossing.bandwidth));
    }
  }
  const std::string limit = TimeText(comparison.sweep->curves[static_cast<size_t>(a)].asymptote_ns);
  const std::string& bound = comparison.sweep->curves[static_cast<size_t>(a)].bound_by;
  switch (sims::StandingOf(*comparison.sweep, a, b)) {
    case sims::SweepStanding::kWins:
      return fmt::format("; {} is predicted to win at every bandwidth looked at", name);
    case sims::SweepStanding::kWinsBeyond:
      return fmt::format("; {} wins at no bandwidth up to {}, only with still faster links (at best {})",
                         name, FormatBandwidth(comparison.sweep->bandwidth.back()), limit);
    case sims::SweepStanding::kNeverWins:
      return fmt::format("; {} never beats {}: with infinitely fast links its step still takes {} ({})", name,
                         other, limit, bound);
    case sims::SweepStanding::kCrosses:
    case sims::SweepStanding::kEqual:
      return "";
  }
  return "";
}

}  // namespace

std::string Verdict(const Comparison& comparison) {
  int best = -1, worst = -1;
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparisonRow& row = comparison.rows[i];
    if (!HasTime(row)) continue;
    if (best < 0 || row.step_ns() < comparison.rows[static_cast<size_t>(best)].step_ns())
      best = static_cast<int>(i);
    if (worst < 0 || row.step_ns() > comparison.rows[static_cast<size_t>(worst)].step_ns())
      worst = static_cast<int>(i);
  }
  if (best < 0) return "no row could be compared.";
  const ComparisonRow& fast = comparison.rows[static_cast<size_t>(best)];
  if (best == worst) return fmt::format("{} takes {} a step.", fast.label(), TimeText(fast.step_ns()));
  const ComparisonRow& slow = comparison.rows[static_cast<size_t>(worst)];
  const double loss = slow.step_ns() / fast.step_ns() - 1;
  if (const StepRange a = RangeOf(fast), b = RangeOf(slow); CannotTell(a, b)) {
    return fmt::format(
        "cannot tell which row is faster: all lie within {}, but {} may take {} to {} and {} {} to {}.",
        PercentText(loss), fast.label(), TimeText(a.low_ns), TimeText(a.high_ns), slow.label(),
        TimeText(b.low_ns), TimeText(b.high_ns));
  }
  // The first row is the reference; when it wins, what matters is what its closest rival would need.
  int rival = worst;
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    const auto number = static_cast<int>(i);
    if (number == best || !HasTime(comparison.rows[i])) continue;
    if (comparison.rows[i].step_ns() < comparison.rows[static_cast<size_t>(rival)].step_ns()) rival = number;
  }
  return fmt::format("{} loses {} against {}: {}{}.", slow.label(), PercentText(loss, 0), fast.label(),
                     ReasonClause(comparison.machine, slow, fast), CrossingClause(comparison, rival, best));
}

}  // namespace lanescope::study
