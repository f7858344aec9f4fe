// SPDX-License-Identifier: Apache-2.0
#include "study/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/statistics.h"

namespace lanescope::study {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMostWanted = 1000;
// Where nobody knows how runs of one program differ: so much of a run's time, known as well as by four runs.
// A change that even such noise does not explain needs no second run.
constexpr double kAssumedSpread = 0.02;
constexpr double kLeastFreedom = 2;  // of earlier baselines
constexpr double kMostApart = 2;     // relative differences lie within it

int NumberOf(const std::vector<RunSample>& runs) { return static_cast<int>(runs.size()); }

// One quantity of both sides.
class ComparedQuantity {
 public:
  ComparedQuantity(const GateRequest& request, size_t quantity, double alpha)
      : request_(request), number_(quantity), alpha_(alpha) {
    for (const RunSample& run : request.base) base_.push_back(run.of[quantity]);
    for (const RunSample& run : request.candidate) candidate_.push_back(run.of[quantity]);
    for (const QuantitySample& a : base_) {
      for (const QuantitySample& b : candidate_) products_.push_back(RelativeDifference(a, b));
    }
  }

  QuantityChange Judge() const {
    auto [relative, by] = Change();
    QuantityChange change = JudgeChange(request_.quantities[number_], MiddleOf(base_), MiddleOf(candidate_),
                                        relative, request_.budget, std::move(by));
    change.unrecorded = Unrecorded();
    if (change.verdict == GateVerdict::kCannotTell && change.unrecorded.empty())
      change.wanted_runs = WantedRuns(change);
    return change;
  }

 private:
  using Judged = std::pair<ChangeInterval, std::string>;

  // No program runs without memory: 0 bytes say that nobody looked.
  std::vector<std::string> Unrecorded() const {
    std::vector<std::string> sides;
    if (request_.quantities[number_].kind != Quantity::Kind::kMemory) return sides;
    const auto is_none = [](const QuantitySample& sample) { return sample.value <= 0; };
    if (std::ranges::any_of(base_, is_none)) sides.push_back(request_.base_name);
    if (std::ranges::any_of(candidate_, is_none)) sides.push_back(request_.candidate_name);
    return sides;
  }

  Judged Change() const {
    if (!Unrecorded().empty()) return {{0, -kMostApart, kMostApart}, "nothing"};
    const int n = NumberOf(request_.base), m = NumberOf(request_.candidate);
    if (request_.quantities[number_].is_exact()) {
      const auto [low, high] = std::ranges::minmax(products_);
      return {{Median(products_), low, high}, "exact"};
    }
    // A quantity that neither side has any of.
    const auto has_some = [](const QuantitySample& sample) { return sample.value > 0; };
    if (std::ranges::none_of(base_, has_some) && std::ranges::none_of(candidate_, has_some))
      return {{}, "exact"};
    if (request_.in_turn) {
      std::vector<double> pairs;
      for (size_t i = 0; i < base_.size(); ++i) pairs.push_back(RelativeDifference(base_[i], candidate_[i]));
      if (const auto change = PairedChange(pairs, alpha_)) return {*change, "pairs"};
      // A few wall times on a loud machine differ by more than any spread that could be assumed.
      if (n > 1) return {{Median(pairs), -kMostApart, kMostApart}, "too few rounds"};
    } else {
      if (spread().freedom >= kLeastFreedom) return {OverBaselines(), "earlier baselines"};
      if (const auto change = TwoSampleChange(products_, n, m, alpha_)) return {*change, "ranks"};
    }
    return OverRuns();
  }

  BaselineSpread spread() const {
    return request_.spread.empty() ? BaselineSpread{} : request_.spread[number_];
  }

  // The next record differs from the last one as records before did, and by what a side with fewer runs than
  // those errs more.
  ChangeInterval OverBaselines() const {
    const BaselineSpread known = spread();
    const double fewer = 1 / static_cast<double>(candidate_.size()) - 1 / std::max(1.0, known.runs);
    const double squares = 2 * known.of_records * known.of_records +
                           std::max(0.0, fewer) * known.of_runs * known.of_runs + SquaredErrors(fewer > 0);
    return SpreadChange(Median(products_), std::sqrt(squares), known.freedom, alpha_);
  }

  Judged OverRuns() const {
    const BaselineSpread known = spread();
    double squares = known.of_runs * known.of_runs * known.run_freedom;
    double freedom = known.run_freedom;
    for (const auto* side : {&base_, &candidate_}) {
      squares += SquaresOf(*side);
      freedom += static_cast<double>(side->size() - 1);
    }
    std::string by = "spread of runs";
    if (freedom < kAssumedFreedom) {
      squares += kAssumedFreedom * kAssumedSpread * kAssumedSpread;
      freedom += kAssumedFreedom;
      by = "assumed spread";
    }
    const double runs = 1 / static_cast<double>(base_.size()) + 1 / static_cast<double>(candidate_.size());
    const double error = std::sqrt(squares / freedom * runs + SquaredErrors(true));
    return {SpreadChange(Median(products_), error, freedom, alpha_), by};
  }

  // Around the mean of a side, relative.
  double SquaresOf(const std::vector<QuantitySample>& side) const {
    const double mean = std::accumulate(side.begin(), side.end(), 0.0,
                                        [](double sum, const auto& sample) { return sum + sample.value; }) /
                        static_cast<double>(side.size());
    double squares = 0;
    for (const QuantitySample& sample : side) squares += (sample.value - mean) * (sample.value - mean);
    const double scale = Scale();
    return scale > 0 ? squares / (scale * scale) : 0;
  }
  // The spread that a single run's own steps leave open; of several runs their spread has it.
  double SquaredErrors(bool counts) const {
    if (!counts || Scale() <= 0) return 0;
    double squares = 0;
    for (const auto* side : {&base_, &candidate_}) {
      if (side->size() == 1) squares += std::pow(side->front().error / Scale(), 2);
    }
    return squares;
  }
  double Scale() const {
    double sum = 0;
    for (const auto* side : {&base_, &candidate_}) {
      for (const QuantitySample& sample : *side) sum += sample.scale;
    }
    return sum / static_cast<double>(base_.size() + candidate_.size());
  }
  static double MiddleOf(const std::vector<QuantitySample>& side) {
    std::vector<double> values;
    for (const QuantitySample& sample : side) values.push_back(sample.value);
    return Median(std::move(values));
  }

  // An interval shrinks with the root of the runs.
  int WantedRuns(const QuantityChange& change) const {
    const int runs = std::min(NumberOf(request_.base), NumberOf(request_.candidate));
    const int fewest = FewestPairs(alpha_);
    const double distance = std::abs(change.change.value - request_.budget);
    const double reach = change.change.value > request_.budget ? change.change.value - change.change.low
                                                               : change.change.high - change.change.value;
    if (runs < fewest) return fewest;
    const double wanted = std::ceil(runs * std::pow(reach / distance, 2));
    return wanted <= kMostWanted ? std::max(runs + 1, static_cast<int>(wanted)) : 0;
  }

  const GateRequest& request_;
  const size_t number_;
  const double alpha_;
  std::vector<QuantitySample> base_, candidate_;
  std::vector<double> products_;
};

double ErrorOfEach(size_t quantities, int looks) {
  return kGateError / static_cast<double>(std::max<size_t>(1, quantities)) / std::max(1, looks);
}

size_t Uncertain(const std::vector<Quantity>& quantities) {
  return static_cast<size_t>(std::ranges::count_if(quantities, [](const auto& q) { return !q.is_exact(); }));
}

void AddNotes(const GateRequest& request, GateResult* result) {
  const auto goes_by = [&](std::string_view by) {
    return std::ranges::any_of(result->quantities, [&](const QuantityChange& q) { return q.by == by; });
  };
  if (goes_by("ranks") || (goes_by("spread of runs") && !request.in_turn)) {
    result->notes.emplace_back(
        "the sides were not run in turn: what changed on the machine between them counts for the candidate");
  }
  for (const QuantityChange& change : result->quantities) {
    for (const std::string& side : change.unrecorded) {
      result->notes.push_back(
          fmt::format("{} does not record {}; PyTorch's profiler does with profile_memory=True", side,
                      change.quantity.name()));
    }
  }
  if (goes_by("assumed spread")) {
    result->notes.push_back(fmt::format(
        "so few runs do not say how runs differ: {:g}% of their time is assumed, known as by four runs",
        100 * kAssumedSpread));
  }
  const auto one_short_run = [](const std::vector<RunSample>& runs) {
    return runs.size() == 1 && runs.front().steps < int64_t{kFewSteps};
  };
  const bool of_steps = request.quantities.front().kind != Quantity::Kind::kWall &&
                        (goes_by("assumed spread") || goes_by("spread of runs"));
  if (of_steps && (one_short_run(request.base) || one_short_run(request.candidate))) {
    result->notes.push_back(
        fmt::format("fewer than {} steps do not say how steps differ: {:g}% of their time is assumed, known "
                    "as by {:g} steps",
                    kFewSteps, 100 * kAssumedOfStep, kAssumedFreedom + 1));
  }
}

}  // namespace

std::string_view GateVerdictName(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kFine:
      return "fine";
    case GateVerdict::kWorse:
      return "worse";
    case GateVerdict::kCannotTell:
      break;
  }
  return "cannot tell";
}

double RelativeDifference(const QuantitySample& base, const QuantitySample& candidate) {
  const double scale = (base.scale + candidate.scale) / 2;
  return scale > 0 ? (candidate.value - base.value) / scale : 0;
}

QuantityChange JudgeChange(const Quantity& quantity, double base, double candidate,
                           const ChangeInterval& relative, double budget, std::string by) {
  const auto of_base = [&](double difference) {
    if (quantity.kind == Quantity::Kind::kIdle) return difference;
    if (difference >= 2) return kInfinity;
    return difference <= -2 ? -1 : difference / (1 - difference / 2);
  };
  QuantityChange change{.quantity = quantity, .base = base, .candidate = candidate, .by = std::move(by)};
  change.change = {of_base(relative.value), of_base(relative.low), of_base(relative.high)};
  change.verdict = change.change.low > budget     ? GateVerdict::kWorse
                   : change.change.high <= budget ? GateVerdict::kFine
                                                  : GateVerdict::kCannotTell;
  return change;
}

GateVerdict VerdictOf(const std::vector<QuantityChange>& quantities) {
  const auto any = [&](GateVerdict verdict) {
    return std::ranges::any_of(quantities, [&](const auto& q) { return q.verdict == verdict; });
  };
  return any(GateVerdict::kWorse)        ? GateVerdict::kWorse
         : any(GateVerdict::kCannotTell) ? GateVerdict::kCannotTell
                                         : GateVerdict::kFine;
}

bool RanInTurn(const std::vector<RunSample>& base, const std::vector<RunSample>& candidate) {
  if (base.size() != candidate.size() || base.size() < 2) return false;
  int64_t until = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    if (base[i].utc_ns <= until || candidate[i].utc_ns <= until) return false;
    until = std::max(base[i].utc_ns, candidate[i].utc_ns);
  }
  return true;
}

GateResult Gate(const GateRequest& request) {
  for (const auto& [runs, name] : {std::pair(&request.base, &request.base_name),
                                   std::pair(&request.candidate, &request.candidate_name)}) {
    if (runs->empty()) Throw(Code::kFailedPrecondition, "{} has no runs to judge", *name);
  }
  GateResult result{.base_name = request.base_name,
                    .candidate_name = request.candidate_name,
                    .budget = request.budget,
                    .base_runs = NumberOf(request.base),
                    .candidate_runs = NumberOf(request.candidate),
                    .in_turn = request.in_turn};
  const double alpha = ErrorOfEach(Uncertain(request.quantities), request.looks);
  for (size_t q = 0; q < request.quantities.size(); ++q)
    result.quantities.push_back(ComparedQuantity(request, q, alpha).Judge());
  result.verdict = VerdictOf(result.quantities);
  AddNotes(request, &result);
  return result;
}

std::vector<int> LooksOf(int rounds, size_t quantities) {
  std::vector<int> looks{rounds};
  const auto tells = [&](int after) {
    return after >= FewestPairs(ErrorOfEach(quantities, static_cast<int>(looks.size()) + 1));
  };
  while (tells(looks.front() / 2)) looks.insert(looks.begin(), looks.front() / 2);
  return looks;
}

}  // namespace lanescope::study
