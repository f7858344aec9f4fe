// SPDX-License-Identifier: Apache-2.0
#include "cli/module_maps.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/interrupt.h"
#include "cli/print.h"
#include "core/base/error.h"
#include "core/base/units.h"

namespace lanescope::cli {
namespace {

std::string StepText(int64_t ns) { return TimeText(static_cast<double>(ns)); }

}  // namespace

std::optional<study::FoundModuleMaps> FindModuleMaps(const std::string& graph,
                                                     const study::Workload& workload,
                                                     const study::Predictor& predictor,
                                                     const std::set<std::string>& whole,
                                                     const study::FoundPlacements& found, int64_t budget_ns) {
  try {
    const study::ModuleTree modules = study::ModuleTree::BesideGraph(graph);
    study::ModuleSearchRequest request;
    request.whole = whole;
    request.budget_ns = std::max<int64_t>(1, budget_ns / 4);
    for (const sims::FoundPlacement& one : found.result.best) request.also.push_back(one.placement);
    request.interrupted = &Interruption().flag();
    return study::SearchModuleMaps(workload, predictor, modules, request);
  } catch (const Error& error) {
    if (error.code() != Code::kNotFound && error.code() != Code::kCancelled)
      NoteLine("note: no map of the modules is looked for: " + error.message());
    return std::nullopt;
  }
}

std::string ModuleMapsLine(const study::FoundModuleMaps& maps, int64_t found_ns) {
  std::string line =
      fmt::format("the best map of whole modules takes {} a step, simulated", StepText(maps.best.step_ns));
  line +=
      maps.one_gpu_ns ? fmt::format(", one GPU {}", StepText(*maps.one_gpu_ns)) : "; one GPU cannot hold it";
  if (maps.best_split)
    line += fmt::format(", the best cut over all GPUs {}", StepText(maps.best_split->step_ns));
  if (found_ns < maps.best.step_ns)
    line += fmt::format("; the placement of single ops, which is no map, {}", StepText(found_ns));
  return line;
}

}  // namespace lanescope::cli
