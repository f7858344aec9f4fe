// SPDX-License-Identifier: Apache-2.0
// The results of a search as JSON, with the keys that docs/ lists. Internal to study, cli and python.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "study/compare/module_search.h"
#include "study/compare/placement_search.h"

namespace lanescope::study {

// "verified" is empty: what ran on devices is for who ran it.
nlohmann::json FoundPlacementsJson(const FoundPlacements& found, const Graph& graph, const Machine& machine);
// {"step_ns", "parts": {PATH: DEVICE}, "placement", "one_gpu_ns", "split": the same of the best cut, or
// null}.
nlohmann::json ModuleMapsJson(const FoundModuleMaps& maps, const Graph& graph, const Machine& machine);

}  // namespace lanescope::study
