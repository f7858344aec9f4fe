// SPDX-License-Identifier: Apache-2.0
#include "cli/gpt_file.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/graph/graph_io.h"

namespace lanescope::cli {

std::string CheckGraphFile(const std::string& path) {
  return path.ends_with(".pb") || path.ends_with(".pbtxt")
             ? ""
             : fmt::format("'{}' ends in neither .pb nor .pbtxt, which say what to write", path);
}

void RequireGraphFile(const std::string& path) {
  if (const std::string problem = CheckGraphFile(path); !problem.empty())
    Throw(Code::kInvalidArgument, "{}", problem);
}

int WriteGptFile(const sims::megatron::GptOrigin& step, const std::string& fold, const std::string& path) {
  const bool folded =
      fold == "all" || (fold == "auto" && NodesOfGptStep(step.model, step.layout) > kMostUnfoldedGptNodes);
  const StepGraph written = WriteGptStep(step.model, step.layout, step.schedule, {}, folded);
  WriteGraph(written.graph, path);
  const std::string configuration = path.substr(0, path.rfind('.')) + ".run.json";
  WriteFile(configuration, nlohmann::json{{"targets", written.spec.targets}}.dump(2) + "\n");
  if (folded) {
    PrintNote("note: each GPU of {} stands for {:.0f} that do the same at the same time\n", path,
              step.layout.tensor * step.layout.data);
  }
  return written.graph.num_nodes();
}

}  // namespace lanescope::cli
