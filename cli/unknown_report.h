// SPDX-License-Identifier: Apache-2.0
// Notes on ops that are unknown here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/schedule/unknown_work.h"

namespace lanescope::cli {

// One line an op; nothing where all are known.
void PrintUnknownWork(const std::vector<UnknownWork>& unknown);
// [{"op", "defined", "launches", "followers"}]
nlohmann::json UnknownWorkJson(const std::vector<UnknownWork>& unknown);

}  // namespace lanescope::cli
