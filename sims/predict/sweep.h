// SPDX-License-Identifier: Apache-2.0
// How placements compare over a range of link bandwidths: who wins where, and where that changes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/ranks.h"
#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "sims/predict/predict.h"

namespace lanescope::sims {

// One schedule to compare; what it refers to must outlive the sweep.
struct SweepCandidate {
  std::string name;
  const Graph* graph = nullptr;
  const GraphInfo* info = nullptr;
  const Schedule* schedule = nullptr;
  // For a schedule whose graph is not there; else null.
  const CommandEstimates* estimates = nullptr;
};

struct SweepRange {
  std::vector<int> links;    // link numbers of the machine whose bandwidth is varied, all alike
  std::vector<int> buses;    // buses varied with them
  double low = 0, high = 0;  // bytes per second
  int points = 25;           // spaced evenly on a logarithmic scale
};

struct SweepCurve {
  std::string name;
  std::vector<int64_t> step_ns;  // by point
  // With the varied links infinitely fast (their latency stays), and what makes the step that long then:
  // "GPU:0 computes" with the fraction of the step that this explains.
  int64_t asymptote_ns = 0;
  std::string bound_by;
  double bound_share = 0;
};

// The order of two candidates changes at `bandwidth` (to within a thousandth): `below` is faster below it.
struct SweepCrossing {
  int below = 0, above = 0;
  double bandwidth = 0;
  int64_t step_ns = 0;
};

struct Sweep {
  std::vector<double> bandwidth;
  std::vector<SweepCurve> curves;
  std::vector<SweepCrossing> crossings;  // by bandwidth
};

// How the first of two curves stands to the second over the whole range.
enum class SweepStanding {
  kCrosses,     // their order changes within the range
  kWins,        // faster at every point that tells them apart
  kWinsBeyond,  // slower throughout, but not with infinitely fast links
  kNeverWins,   // slower throughout, with infinitely fast links too
  kEqual,
};
SweepStanding StandingOf(const Sweep& sweep, int first, int second);

// The fastest curve from `bandwidth` on, up to the next one's; of equal ones the first.
struct SweepLeader {
  double bandwidth = 0;
  int curve = 0;
};
std::vector<SweepLeader> LeadersOf(const Sweep& sweep);

// By number: what a sweep varies unless it is told otherwise.
std::vector<int> LinksBetweenGpus(const Machine& machine);

// `machine` with the links and buses of the range at `bandwidth`; their size-to-time tables, which no longer
// hold, are dropped.
Machine WithBandwidth(const Machine& machine, const SweepRange& range, double bandwidth);

// Step times (ns) of candidate number `candidate` at these bandwidths, computed wherever somebody likes.
using SweepElsewhere =
    std::function<std::vector<int64_t>(int candidate, const std::vector<double>& bandwidth)>;

// The steps that a SweepElsewhere gives for this candidate. Throws InvalidArgument for an empty or unusable
// range.
std::vector<int64_t> SweepSteps(const Machine& machine, const CostModel& costs,
                                const PredictionSettings& settings, const SweepCandidate& candidate,
                                const SweepRange& range, const std::vector<double>& bandwidth);

// Throws InvalidArgument for an empty or unusable range. Crossings are looked for between neighbouring points
// and narrowed by bisection. Ranks
// take the points in turn; each has the whole sweep.
Sweep RunSweep(const Machine& machine, const CostModel& costs, const PredictionSettings& settings,
               const std::vector<SweepCandidate>& candidates, const SweepRange& range,
               const Ranks& ranks = {}, const SweepElsewhere& elsewhere = nullptr);

}  // namespace lanescope::sims
