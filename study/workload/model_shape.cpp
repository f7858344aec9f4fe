// SPDX-License-Identifier: Apache-2.0
#include "study/workload/model_shape.h"

#include <algorithm>
#include <filesystem>

#include "sims/plans/graph_shape.h"
#include "study/workload/workload.h"

namespace lanescope::study {

sims::plans::ModelShape ReadModelShape(const std::string& name_or_file) {
  std::error_code unknown;
  const bool is_named = std::ranges::count(sims::plans::ModelNames(), name_or_file) > 0;
  if (is_named || name_or_file.ends_with(".json") || !std::filesystem::exists(name_or_file, unknown))
    return sims::plans::ReadModel(name_or_file);
  const Workload workload(name_or_file);
  return sims::plans::ShapeOfGraph(workload.graph(), workload.info(), workload.name());
}

}  // namespace lanescope::study
