// SPDX-License-Identifier: Apache-2.0
// The best map of a model's whole modules, beside a placement of its ops that a search found.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "study/compare/module_search.h"
#include "study/compare/placement_search.h"

namespace lanescope::cli {

// Empty: the graph has no modules beside it, or a note says why they make no map.
std::optional<study::FoundModuleMaps> FindModuleMaps(const std::string& graph,
                                                     const study::Workload& workload,
                                                     const study::Predictor& predictor,
                                                     const std::set<std::string>& whole,
                                                     const study::FoundPlacements& found, int64_t budget_ns);

// "The best map of whole modules takes 2.73 ms a step, one GPU 2.73 ms, and the placement of single ops
// 1.38 ms, which PyTorch has no map for".
std::string ModuleMapsLine(const study::FoundModuleMaps& maps, int64_t found_ns);

}  // namespace lanescope::cli
