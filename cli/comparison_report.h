// SPDX-License-Identifier: Apache-2.0
// A comparison as tables.
#pragma once

#include "study/compare/comparison.h"

namespace lanescope::cli {

// The verdict and one table; with `details` what else is known of every row.
void PrintComparison(const study::Comparison& comparison, bool details);

}  // namespace lanescope::cli
