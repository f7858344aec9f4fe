// SPDX-License-Identifier: Apache-2.0
// A comparison as JSON, with the keys that docs/ lists: for the command line and for other languages.
// Internal to study, cli and python.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "study/compare/comparison.h"

namespace lanescope::study {

nlohmann::json ComparisonJson(const Comparison& comparison);

// Copies of a step of the measured run.
std::array<sims::CopyTraffic, kNumCopyClasses> PerStep(const traces::RunStatistics& statistics);
// Shares of the time in which the row ran.
double ShareOf(int64_t ns, const MeasuredRow& row);

}  // namespace lanescope::study
