#include "sims/effects/fit_issue.h"

#include <algorithm>
#include <cmath>

namespace lanescope::sims {
namespace {

constexpr size_t kMostSamples = 4000;
constexpr size_t kCandidates = 40;

// About `count` of the values, evenly spread over their order, and 0.
std::vector<int64_t> Quantiles(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  std::vector<int64_t> picked = {0};
  for (size_t i = 0; i < kCandidates && !values.empty(); ++i)
    picked.push_back(values[i * (values.size() - 1) / (kCandidates - 1)]);
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

// Sum of absolute differences; gives up where it exceeds `limit`.
double Misfit(const std::vector<IssueSample>& samples, const IssueFit& fit, double limit) {
  double sum = 0;
  for (const IssueSample& sample : samples) {
    const int64_t free_at = sample.previous_end_ns < 0 ? 0 : sample.previous_end_ns + fit.gap_ns;
    const int64_t issued = sample.number * fit.issue_ns;
    sum += std::abs(static_cast<double>(sample.start_ns - std::max({free_at, sample.ready_ns, issued})));
    if (sum > limit) break;
  }
  return sum;
}

}  // namespace

IssueFit FitIssue(const std::vector<IssueSample>& samples) {
  std::vector<IssueSample> used;
  const size_t stride = samples.size() / kMostSamples + 1;
  for (size_t i = 0; i < samples.size(); i += stride) used.push_back(samples[i]);
  // The right pair makes some command begin exactly when it says, so that the values to try come from the
  // starts themselves.
  std::vector<int64_t> gaps, issues;
  for (const IssueSample& sample : used) {
    if (sample.previous_end_ns >= 0 && sample.ready_ns <= sample.previous_end_ns)
      gaps.push_back(std::max<int64_t>(0, sample.start_ns - sample.previous_end_ns));
    issues.push_back(std::max<int64_t>(0, sample.start_ns / std::max(1, sample.number)));
  }
  const std::vector<int64_t> issue_values = Quantiles(std::move(issues));
  const std::vector<int64_t> gap_values = Quantiles(std::move(gaps));
  IssueFit best;
  double least = Misfit(used, best, HUGE_VAL);
  for (const int64_t issue : issue_values) {
    for (const int64_t gap : gap_values) {
      const IssueFit fit{gap, issue};
      const double misfit = Misfit(used, fit, least);
      if (misfit >= least) continue;
      least = misfit;
      best = fit;
    }
  }
  return best;
}

}  // namespace lanescope::sims
