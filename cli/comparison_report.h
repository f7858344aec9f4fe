// A comparison as tables and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "study/comparison.h"

namespace lanescope::cli {

void PrintComparison(const study::Comparison& comparison);
nlohmann::json ComparisonJson(const study::Comparison& comparison);

}  // namespace lanescope::cli
