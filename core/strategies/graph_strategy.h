// SPDX-License-Identifier: Apache-2.0
// Strategies that write another graph: what is placed, run and saved is theirs.
#pragma once

#include <span>
#include <string_view>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/inputs/run_spec.h"
#include "core/machine/machine.h"
#include "core/schedule/cost.h"

namespace lanescope {

struct StepGraph {
  Graph graph;   // device fields say where its nodes go
  RunSpec spec;  // the same step
};

struct RewriteInput {
  const Graph& graph;
  const RunSpec& spec;
  const GraphInfo& info;  // with the step's feeds
  const Machine& machine;
  const CostModel& costs;
};

struct GraphStrategy {
  std::string_view name;
  std::string_view summary;  // one line for --help
  // Throws InvalidArgument for a graph that it cannot rewrite, with the node that stands in the way.
  StepGraph (*rewrite)(const RewriteInput& input);
};

std::span<const GraphStrategy> GraphStrategies();
// Null for any other name.
const GraphStrategy* FindGraphStrategy(std::string_view name);

// core/strategies/
StepGraph ReplicateOverBatch(const RewriteInput& input);
StepGraph ShardOverBatch(const RewriteInput& input);
StepGraph SplitOverMatrices(const RewriteInput& input);
StepGraph WritePipeline1F1B(const RewriteInput& input);
StepGraph WritePipelineGPipe(const RewriteInput& input);

}  // namespace lanescope
