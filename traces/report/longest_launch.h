// SPDX-License-Identifier: Apache-2.0
// The kernel to look at first. Internal to traces.
#pragma once

#include <string>

#include "traces/report/summary.h"

namespace lanescope::traces {

// The longest of kernels that compute and whole CUDA graphs, and its share of their time together.
struct LongestLaunch {
  const SummaryRow* row = nullptr;  // null: nothing computes
  double share = 0;
};
LongestLaunch LongestLaunchOf(const Summary& summary);

// A kernel's name without what would make a sentence unreadable.
std::string ShortName(const std::string& name);

}  // namespace lanescope::traces
