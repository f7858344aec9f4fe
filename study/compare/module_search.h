// SPDX-License-Identifier: Apache-2.0
// The best placement of a PyTorch model by whole modules, as a device map says it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/place/placement.h"
#include "study/predict/predictor.h"
#include "study/workload/module_placement.h"
#include "study/workload/module_tree.h"
#include "study/workload/workload.h"

namespace lanescope::study {

struct ModuleSearchRequest {
  std::set<std::string> whole;         // classes of modules that stay whole
  std::vector<Placement> also;         // of single ops: their device maps are looked at, too
  int64_t budget_ns = 10'000'000'000;  // ends the search with the best by then
  const std::atomic<bool>* interrupted = nullptr;
};

struct ModuleMap {
  std::vector<ModulePart> parts;  // as PartsOnOneDevice gives them
  Placement placement;            // that they make
  int64_t step_ns = 0;            // simulated
};
struct FoundModuleMaps {
  ModuleMap best;
  std::optional<int64_t> one_gpu_ns;  // all on one GPU; empty: that does not fit
  std::optional<ModuleMap>
      best_split;  // modules in order over as many GPUs as can have some; empty: none fits
  int simulations = 0;
};

// All on one GPU, cuts of the modules in the order in which they work over two GPUs and more, and the device
// maps of `also`: the shortest step, by the simulation of what a map makes of the graph, where modules work
// where their parameters lie. Nodes of no module go as in `annotated`. So `best` is no slower than one GPU.
// Throws InvalidArgument for a graph of other modules, ResourceExhausted where nothing fits, Cancelled.
FoundModuleMaps SearchModuleMaps(const Workload& workload, const Predictor& predictor,
                                 const ModuleTree& modules, const ModuleSearchRequest& request);

}  // namespace lanescope::study
