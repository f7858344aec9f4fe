// SPDX-License-Identifier: Apache-2.0
#include "study/workload/model_shape.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "sims/plans/graph_shape.h"
#include "study/workload/workload.h"

namespace lanescope::study {

sims::plans::ModelShape ReadModelShape(const std::string& name_or_file) {
  std::error_code unknown;
  const bool is_named = std::ranges::count(sims::plans::ModelNames(), name_or_file) > 0;
  // A text that looks like a file of a graph is one.
  const bool is_path = std::filesystem::path(name_or_file).has_parent_path() ||
                       std::ranges::any_of(std::array{".pb", ".pbtxt", ".onnx"},
                                           [&](const char* end) { return name_or_file.ends_with(end); });
  if (is_path && !std::filesystem::exists(name_or_file, unknown))
    Throw(Code::kNotFound, "no such file: {}", Printable(name_or_file));
  if (is_named || name_or_file.ends_with(".json") || !std::filesystem::exists(name_or_file, unknown))
    return sims::plans::ReadModel(name_or_file);
  const Workload workload(name_or_file);
  return sims::plans::ShapeOfGraph(workload.graph(), workload.info(), workload.name());
}

}  // namespace lanescope::study
