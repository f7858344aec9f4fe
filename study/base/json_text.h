// SPDX-License-Identifier: Apache-2.0
// Common parts of this program's JSON, for programs that strategies call and for the command line.
// Internal to study, cli and python.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/statistics.h"
#include "core/graph/shape.h"

namespace lanescope::study {

// One line; bytes that are no UTF-8 are replaced.
std::string JsonText(const nlohmann::json& json);
// Sizes; null for one that is not exact, null for all of an unknown rank.
nlohmann::json ShapeJson(const Shape& shape);

// {"median", "p25", "p75", "min", "max"}, in the unit of the samples.
nlohmann::json SpreadJson(const Spread& spread);

}  // namespace lanescope::study
