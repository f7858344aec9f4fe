// SPDX-License-Identifier: Apache-2.0
// The figures of one run for each quantity: its typical step, and how well its own steps tell that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/runs/run_view.h"
#include "study/gate/quantity.h"

namespace lanescope::study {

// Fewer steps than these do not say how steps differ: `kAssumedOfStep` of their time is assumed, known as
// well as by `kAssumedFreedom` + 1 of them, beside what they show.
inline constexpr size_t kFewSteps = 6;
inline constexpr double kAssumedOfStep = 0.1;
inline constexpr double kAssumedFreedom = 3;

struct QuantitySample {
  double value = 0;  // ns or bytes
  double scale = 0;  // what a change of it is a share of: itself, of idle time the step
  // Standard error of `value` by the run's own steps, which may be correlated; infinite where there are none.
  double error = 0;
};

struct RunSample {
  std::string name{};                // "run 2 of t.db", "round 3"
  int64_t utc_ns = 0;                // when it began; 0: nobody says
  int64_t steps = 0;                 // that count
  std::vector<QuantitySample> of{};  // by quantity
};

// Mean of the middle half: a few steps that something held up do not decide, and where steps have two usual
// lengths it moves with their shares, which a median jumps over. Of fewer than kFewSteps the median: one of
// them may be of any length. `values` in the order of the steps, not empty.
QuantitySample TypicalOf(std::vector<double> values);
// Mean of the fastest tenth, at least of one. Other programs only ever make steps longer: where they often
// do, this is the same from run to run when the middle is not; but it knows nothing of what slow steps have.
QuantitySample FastestOf(std::vector<double> values);

// Steps that do not count are left out. `peak_bytes`: what the run's devices hold at most, added up. Throws
// FailedPrecondition for a run without steps or work, NotFound for an op that does not run in it.
RunSample SampleRun(const RunView& view, int64_t peak_bytes, std::span<const Quantity> quantities);

}  // namespace lanescope::study
