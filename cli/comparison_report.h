// A comparison as tables.
#pragma once

#include "study/compare/comparison.h"

namespace lanescope::cli {

void PrintComparison(const study::Comparison& comparison);

}  // namespace lanescope::cli
