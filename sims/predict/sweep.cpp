// SPDX-License-Identifier: Apache-2.0
#include "sims/predict/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

constexpr double kInfiniteBandwidth = 1e18;  // bytes per second
constexpr double kCrossingPrecision = 1e-3;
constexpr int kMaxPoints = 10'000;

void CheckRange(const Machine& machine, const SweepRange& range) {
  if (!(range.low > 0 && range.high > range.low && std::isfinite(range.high))) {
    Throw(Code::kInvalidArgument, "a sweep needs 0 < low < high, got {} to {} bytes per second", range.low,
          range.high);
  }
  if (range.points < 2 || range.points > kMaxPoints) {
    Throw(Code::kInvalidArgument, "a sweep takes 2 to {} points, got {}", kMaxPoints, range.points);
  }
  const auto in = [](const std::vector<int>& numbers, size_t count) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](int n) { return n >= 0 && static_cast<size_t>(n) < count; });
  };
  if (range.links.empty() && range.buses.empty()) {
    Throw(Code::kInvalidArgument, "a sweep needs at least one link or bus to vary");
  }
  if (!in(range.links, machine.links.size()) || !in(range.buses, machine.buses.size())) {
    Throw(Code::kInvalidArgument, "the sweep names a link or bus that the machine lacks");
  }
}

// One candidate at one bandwidth after the other. What launches cost does not depend on links.
class SweptCandidate {
 public:
  SweptCandidate(const Machine& machine, const CostModel& costs, const PredictionSettings& settings,
                 const SweepCandidate& candidate, const SweepRange& range)
      : machine_(machine),
        costs_(costs),
        settings_(settings),
        candidate_(candidate),
        range_(range),
        estimates_(candidate.estimates != nullptr
                       ? *candidate.estimates
                       : EstimateCommands(*candidate.graph, *candidate.info, *candidate.schedule, machine,
                                          costs, settings)) {
    settings_.draws = 0;
  }

  Prediction At(double bandwidth) {
    const Machine varied = WithBandwidth(machine_, range_, bandwidth);
    const Schedule& schedule = *candidate_.schedule;
    for (const CommandId c : schedule.commands.ids()) {
      const Command& command = schedule.commands[c];
      if (command.kind != CommandKind::kCopy) continue;
      estimates_.costs.ns[c] =
          costs_.Copy(varied, schedule.CopySource(command), schedule.CopyDestination(command), command.bytes)
              .ns;
    }
    return Predict(schedule, varied, estimates_, settings_);
  }
  int64_t StepAt(double bandwidth) { return At(bandwidth).step_ns; }

 private:
  const Machine& machine_;
  const CostModel& costs_;
  PredictionSettings settings_;
  const SweepCandidate& candidate_;
  const SweepRange& range_;
  CommandEstimates estimates_;
};

// Each rank takes every so many-th point.
std::vector<int64_t> StepsAt(const std::vector<double>& bandwidth, const Ranks& ranks,
                             SweptCandidate* candidate) {
  const auto step = static_cast<size_t>(ranks.size);
  std::string mine;
  for (size_t i = static_cast<size_t>(ranks.rank); i < bandwidth.size(); i += step)
    mine += fmt::format("{} ", candidate->StepAt(bandwidth[i]));
  std::vector<std::istringstream> shared;
  for (const std::string& text : ranks.Share(mine)) shared.emplace_back(text);
  std::vector<int64_t> steps(bandwidth.size());
  for (size_t i = 0; i < steps.size(); ++i) shared[i % step] >> steps[i];
  return steps;
}

// The largest part of the critical path in words.
void NameBound(const Machine& machine, const Prediction& prediction, SweepCurve* curve) {
  const CriticalPath& path = prediction.critical_path;
  int64_t largest = path.copy_ns;
  curve->bound_by = "copies whose latency or other links remain";
  if (path.overhead_ns > largest) {
    largest = path.overhead_ns;
    curve->bound_by = "gaps between commands";
  }
  for (const DeviceId d : machine.devices.ids()) {
    const int64_t ns = path.launch_ns_by_device[d];
    if (ns <= largest) continue;
    largest = ns;
    curve->bound_by = machine.device(d).local_name() + " computes";
  }
  const auto step = static_cast<double>(std::max<int64_t>(prediction.step_ns, 1));
  curve->bound_share = static_cast<double>(largest) / step;
}

// The difference first - second changes sign between `low` and `high`.
SweepCrossing Bisect(SweptCandidate* first, SweptCandidate* second, double low, double high) {
  const bool first_below = first->StepAt(low) < second->StepAt(low);
  while (high / low > 1 + kCrossingPrecision) {
    const double middle = std::sqrt(low * high);
    const int64_t a = first->StepAt(middle), b = second->StepAt(middle);
    (a != b && (a < b) == first_below ? low : high) = middle;
  }
  SweepCrossing crossing;
  crossing.bandwidth = std::sqrt(low * high);
  crossing.step_ns = first->StepAt(crossing.bandwidth);
  return crossing;
}

// -1: curve a is faster at the point.
int SignAt(const Sweep& sweep, size_t a, size_t b, size_t point) {
  const int64_t x = sweep.curves[a].step_ns[point], y = sweep.curves[b].step_ns[point];
  return (x > y) - (x < y);
}

void FindCrossings(std::vector<SweptCandidate>* swept, Sweep* sweep) {
  for (size_t a = 0; a < swept->size(); ++a) {
    for (size_t b = a + 1; b < swept->size(); ++b) {
      size_t last = 0;  // the last point at which they differed
      for (size_t point = 1; point < sweep->bandwidth.size(); ++point) {
        const int before = SignAt(*sweep, a, b, last), now = SignAt(*sweep, a, b, point);
        if (now == 0) continue;
        if (before * now < 0) {
          SweepCrossing crossing =
              Bisect(&(*swept)[a], &(*swept)[b], sweep->bandwidth[last], sweep->bandwidth[point]);
          crossing.below = static_cast<int>(before < 0 ? a : b);
          crossing.above = static_cast<int>(before < 0 ? b : a);
          sweep->crossings.push_back(crossing);
        }
        last = point;
      }
    }
  }
  std::stable_sort(sweep->crossings.begin(), sweep->crossings.end(),
                   [](const SweepCrossing& x, const SweepCrossing& y) { return x.bandwidth < y.bandwidth; });
}

}  // namespace

SweepStanding StandingOf(const Sweep& sweep, int first, int second) {
  const auto a = static_cast<size_t>(first), b = static_cast<size_t>(second);
  bool faster = false, slower = false;
  for (size_t point = 0; point < sweep.bandwidth.size(); ++point) {
    const int sign = SignAt(sweep, a, b, point);
    faster |= sign < 0;
    slower |= sign > 0;
  }
  if (faster && slower) return SweepStanding::kCrosses;
  if (faster) return SweepStanding::kWins;
  if (sweep.curves[a].asymptote_ns < sweep.curves[b].asymptote_ns) return SweepStanding::kWinsBeyond;
  return slower ? SweepStanding::kNeverWins : SweepStanding::kEqual;
}

std::vector<SweepLeader> LeadersOf(const Sweep& sweep) {
  std::vector<SweepLeader> leaders;
  for (size_t point = 0; point < sweep.bandwidth.size(); ++point) {
    const auto fastest = std::min_element(
        sweep.curves.begin(), sweep.curves.end(),
        [&](const SweepCurve& a, const SweepCurve& b) { return a.step_ns[point] < b.step_ns[point]; });
    const int curve = static_cast<int>(fastest - sweep.curves.begin());
    if (!leaders.empty() && leaders.back().curve == curve) continue;
    SweepLeader leader{sweep.bandwidth[point], curve};
    // Where the two change their order is known more closely than to a point.
    for (const SweepCrossing& crossing : sweep.crossings) {
      if (leaders.empty() || crossing.below != leaders.back().curve || crossing.above != curve) continue;
      if (crossing.bandwidth > sweep.bandwidth[point - 1] && crossing.bandwidth <= sweep.bandwidth[point])
        leader.bandwidth = crossing.bandwidth;
    }
    leaders.push_back(leader);
  }
  return leaders;
}

std::vector<int> LinksBetweenGpus(const Machine& machine) {
  std::vector<int> links;
  for (size_t i = 0; i < machine.links.size(); ++i) {
    const LinkSpec& link = machine.links[i];
    if (machine.device(link.a).is_gpu() && machine.device(link.b).is_gpu())
      links.push_back(static_cast<int>(i));
  }
  return links;
}

Machine WithBandwidth(const Machine& machine, const SweepRange& range, double bandwidth) {
  Machine varied = machine;
  for (const int link : range.links) {
    varied.links[static_cast<size_t>(link)].bandwidth = bandwidth;
    varied.links[static_cast<size_t>(link)].table.clear();
  }
  for (const int bus : range.buses) varied.buses[static_cast<size_t>(bus)].bandwidth = bandwidth;
  return varied;
}

std::vector<int64_t> SweepSteps(const Machine& machine, const CostModel& costs,
                                const PredictionSettings& settings, const SweepCandidate& candidate,
                                const SweepRange& range, const std::vector<double>& bandwidth) {
  CheckRange(machine, range);
  SweptCandidate swept(machine, costs, settings, candidate, range);
  std::vector<int64_t> steps;
  for (const double each : bandwidth) steps.push_back(swept.StepAt(each));
  return steps;
}

Sweep RunSweep(const Machine& machine, const CostModel& costs, const PredictionSettings& settings,
               const std::vector<SweepCandidate>& candidates, const SweepRange& range, const Ranks& ranks,
               const SweepElsewhere& elsewhere) {
  CheckRange(machine, range);
  Sweep sweep;
  const double ratio = std::log(range.high / range.low) / (range.points - 1);
  for (int i = 0; i < range.points; ++i) sweep.bandwidth.push_back(range.low * std::exp(ratio * i));
  sweep.bandwidth.back() = range.high;
  std::vector<SweptCandidate> swept;
  for (const SweepCandidate& candidate : candidates) {
    swept.emplace_back(machine, costs, settings, candidate, range);
    SweepCurve curve;
    curve.name = candidate.name;
    curve.step_ns = elsewhere ? elsewhere(static_cast<int>(swept.size()) - 1, sweep.bandwidth)
                              : StepsAt(sweep.bandwidth, ranks, &swept.back());
    if (curve.step_ns.size() != sweep.bandwidth.size())
      Throw(Code::kInternal, "{} of {} points of a sweep came back", curve.step_ns.size(),
            sweep.bandwidth.size());
    const Prediction infinite = swept.back().At(kInfiniteBandwidth);
    curve.asymptote_ns = infinite.step_ns;
    NameBound(machine, infinite, &curve);
    sweep.curves.push_back(std::move(curve));
  }
  FindCrossings(&swept, &sweep);
  return sweep;
}

}  // namespace lanescope::sims
