// SPDX-License-Identifier: Apache-2.0
// The known range of a step's time, and when two of them cannot be told apart: the one rule of every
// verdict.
#pragma once

namespace lanescope {

// ns. `low` and `high`: measured, the middle half of the steps; predicted, the interval. high 0: not known.
struct StepRange {
  double step_ns = 0, low_ns = 0, high_ns = 0;
  bool known() const { return high_ns > 0; }
};

// Whether the ranges overlap by more than the steps differ. False where either range is unknown.
bool CannotTell(const StepRange& a, const StepRange& b);

}  // namespace lanescope
