// SPDX-License-Identifier: Apache-2.0
// Whether a candidate is worse than a baseline by more than a budget, as far as their runs can tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/gate/change_interval.h"
#include "study/gate/op_changes.h"
#include "study/gate/quantity.h"
#include "study/gate/run_sample.h"

namespace lanescope::study {

enum class GateVerdict { kFine, kWorse, kCannotTell };
std::string_view GateVerdictName(GateVerdict verdict);  // "fine", "worse", "cannot tell"

// With which a gate errs in each direction, over all that it looks at and all moments at which it might end.
inline constexpr double kGateError = 0.005;

// How baselines of one name differ from each other, of one quantity; relative, as TwoSampleChange has it.
struct BaselineSpread {
  double of_records = 0;   // standard deviation of one record
  double freedom = 0;      // of that; 0: not known
  double of_runs = 0;      // of one run within its record
  double run_freedom = 0;  // of that
  double runs = 1;         // of a record, the mean
};

struct GateRequest {
  std::vector<Quantity> quantities;
  std::string base_name, candidate_name;
  std::vector<RunSample> base, candidate;
  double budget = 0.02;  // a fraction: how much more than the baseline is tolerated
  // The i-th runs of both sides stood beside each other.
  bool in_turn = false;
  int looks = 1;                       // moments at which the gate might have ended, this one included
  std::vector<BaselineSpread> spread;  // by quantity; empty: no store
};

struct QuantityChange {
  Quantity quantity;
  GateVerdict verdict = GateVerdict::kCannotTell;
  double base = 0, candidate = 0;  // of their middle runs; ns or bytes
  // (candidate - base) / base, of idle time / step. Infinite where the baseline has none of it.
  ChangeInterval change{};
  std::string by{};  // what the interval goes by: "pairs", "ranks", "earlier baselines", "spread of
                     // runs", "assumed spread", "exact", "draws of costs",
                     // "nothing"
  // Of each side, in all: that would tell a change like this one from the budget. 0: it is told, or no number
  // that anybody would wait for does.
  int wanted_runs = 0;
  // The sides whose trace does not record the quantity, by name: nothing can be told.
  std::vector<std::string> unrecorded{};
  bool is_better() const { return change.high < 0; }
};

struct GateResult {
  std::string base_name, candidate_name;
  double budget = 0;
  GateVerdict verdict = GateVerdict::kCannotTell;
  int base_runs = 0, candidate_runs = 0;
  bool in_turn = false;
  std::vector<QuantityChange> quantities{};
  std::vector<OpChange> ops{};       // what the step's change comes from; empty: nobody knows
  std::vector<std::string> notes{};  // what the interval does not cover
};

// Worse: the interval of some quantity lies above the budget. Fine: all of them lie at or below it. Every
// run has a sample of every quantity. Same input, same bits. Throws FailedPrecondition for a side without
// runs.
GateResult Gate(const GateRequest& request);

// The verdict of a quantity whose change is known as far as that; `error` beyond it is the caller's.
QuantityChange JudgeChange(const Quantity& quantity, double base, double candidate,
                           const ChangeInterval& relative, double budget, std::string by);
// The verdict of all of its quantities.
GateVerdict VerdictOf(const std::vector<QuantityChange>& quantities);

// A difference, relative to the mean of both scales; 0 where both are 0.
double RelativeDifference(const QuantitySample& base, const QuantitySample& candidate);

// Whether the runs' clocks say that they took turns: one of each side, then again one of each.
bool RanInTurn(const std::vector<RunSample>& base, const std::vector<RunSample>& candidate);

// The rounds after which a gate of at most `rounds` looks whether it can tell: the last, and halves of it
// as long as they may tell anything.
std::vector<int> LooksOf(int rounds, size_t quantities);

}  // namespace lanescope::study
