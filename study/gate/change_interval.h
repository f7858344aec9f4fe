// SPDX-License-Identifier: Apache-2.0
// By how much a candidate's runs differ from a baseline's, as an interval that noise explains no further.
// Differences are relative: (candidate - base) divided by the mean of both scales, which lies within -2 and
// 2, has a value where a side is 0, and turns its sign when the sides change places.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace lanescope::study {

struct ChangeInterval {
  double value = 0, low = 0, high = 0;
};

// For a normal distribution whose spread is itself measured, by `freedom` degrees: the value that is exceeded
// with probability `alpha` (0 < alpha < 0.5, freedom >= 1).
double StudentQuantile(double alpha, double freedom);

// All of these err below `low` with a probability of `alpha` at most, and above `high` with the same.

// `differences`: of runs that stood beside each other, one of each side. Wilcoxon's signed ranks: where a
// coin says which of the two runs first and neither is slower, every sign is as likely as its opposite,
// whatever the distribution, heavy tails, two usual speeds and drift from one pair to the next among them.
// For a change other than 0, and for runs that took turns without a coin, the interval is an approximation.
// `value` is Hodges' and Lehmann's estimate. Where some rounds were disturbed grossly the signs alone count,
// and the median: which of the two it is depends on the sizes of the differences alone. None for too few.
std::optional<ChangeInterval> PairedChange(std::span<const double> differences, double alpha);
// How many pairs that takes at least.
int FewestPairs(double alpha);

// `differences`: every run of a side with every one of the other, of `base` and `candidate` runs. Ranks, too
// (Mann, Whitney; Wilcoxon): it holds for any distribution, of runs that do not depend on each other. None
// for too few.
std::optional<ChangeInterval> TwoSampleChange(std::vector<double> differences, int base, int candidate,
                                              double alpha);

// Around `value`, whose standard error `error` was measured with `freedom` degrees of freedom.
ChangeInterval SpreadChange(double value, double error, double freedom, double alpha);

}  // namespace lanescope::study
