// SPDX-License-Identifier: Apache-2.0
// A whole JSON file, of which its reader takes most values while they are parsed. Internal to traces.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "traces/import/json_limits.h"

namespace lanescope::traces {

// `keeps` is asked of every value, as nlohmann's parser asks; what it refuses is not in the result. Inflates
// gzip files. Throws NotFound, DataLoss for what is no JSON or damaged, and as the limits and `keeps` do.
nlohmann::json ReadJsonFile(const std::string& path, JsonLimits* limits,
                            const nlohmann::json::parser_callback_t& keeps);

}  // namespace lanescope::traces
