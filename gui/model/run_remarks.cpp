// SPDX-License-Identifier: Apache-2.0
#include "gui/model/run_remarks.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"

namespace lanescope::gui {

std::string RemarksOf(const RunData& run) {
  constexpr double kWorthSaying = 0.005;
  std::string text;
  const auto add = [&](bool holds, const std::string& remark) {
    if (holds) text += (text.empty() ? "" : ", ") + remark;
  };
  const auto disturbed = std::count_if(run.steps.begin(), run.steps.end(),
                                       [](const RunView::Step& step) { return !step.counts; });
  add(!run.complete, "incomplete");
  add(run.oversubscribed, "oversubscribed");
  add(disturbed > 0, fmt::format("{} of {} steps disturbed", disturbed, run.steps.size()));
  add(run.in_sample, "in sample");
  add(run.uncalibrated, "uncalibrated");
  add(!run.uncalibrated && run.uncalibrated_share >= kWorthSaying,
      PercentText(run.uncalibrated_share, 0) + " uncalibrated");
  add(!run.uncalibrated && run.extrapolated_share >= kWorthSaying,
      PercentText(run.extrapolated_share, 0) + " extrapolated");
  add(run.dropped > 0, "records lost");
  add(run.invalid_rows > 0, "invalid rows");
  return text;
}

}  // namespace lanescope::gui
