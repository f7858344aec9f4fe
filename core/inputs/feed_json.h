// SPDX-License-Identifier: Apache-2.0
// One feed of a run configuration, from JSON. Internal to core: brings in the JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/inputs/run_spec.h"

namespace lanescope {

// Throws InvalidArgument naming the feed and the key. `directory` as in ParseRunSpec.
FeedSpec FeedFromJson(const std::string& name, const nlohmann::json& json, const std::string& directory);

}  // namespace lanescope
