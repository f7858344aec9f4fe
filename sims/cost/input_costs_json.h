// SPDX-License-Identifier: Apache-2.0
// The costs of a run's input as a part of a cost file. Internal to sims.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sims/cost/input_costs.h"

namespace lanescope::sims {

// Throws InvalidArgument.
InputCosts ParseInputCosts(const nlohmann::json& value);
nlohmann::json InputCostsJson(const InputCosts& costs);

}  // namespace lanescope::sims
