// SPDX-License-Identifier: Apache-2.0
// Strategies that write another graph: what is placed, run and saved is theirs.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/inputs/run_spec.h"
#include "core/machine/machine.h"
#include "core/schedule/cost.h"
#include "core/strategies/split_by.h"

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
  // That nodes are written for, in so many groups that have the whole model each. Each GPU stands for so many
  // that share what it gets; strategies that keep parts of variables have all of these here.
  std::vector<DeviceId> gpus = machine.Gpus();
  int groups = 1;
  int sharers = 1;
  std::vector<Sharing> sharing = {};  // how these share it, those first that have groups of the next
  int stage_parts = 2;                // of the model on each stage of an interleaved pipeline
};

struct GraphStrategy {
  std::string_view name;
  std::string_view summary;  // one line for --help
  // Throws InvalidArgument for a graph that it cannot rewrite, with the node that stands in the way.
  StepGraph (*rewrite)(const RewriteInput& input);
};

std::span<const GraphStrategy> GraphStrategies();
// Whether the text begins with the name of one.
bool IsGraphStrategy(std::string_view text);
// `text`: a name, or a product. Of "data-parallel+tensor-parallel:2" every replica is of two GPUs, which
// share its matrices; sequence-, context-parallel and ring-attention stand where tensor-parallel does, and
// context-parallel:4+tensor-parallel:2 makes four parts of the tokens and two GPUs of each. And of
// "pipeline+tensor-parallel:2" every stage; of "data-parallel+pipeline:4" every replica is a pipeline of
// four, of whose stages "data-parallel+pipeline:4+tensor-parallel:2" makes two GPUs each. Of
// "data-parallel+fsdp:4" four replicas have the parts of a variable among them, and the others the same. GPUs
// of a group follow each other. "recompute+" or "recompute-selective+" comes before any of these, and changes
// the graph that they take; a stage of "pipeline-interleaved-3" has three parts of the model. Throws
// InvalidArgument for any other text, and where the groups do not divide the GPUs.
StepGraph RewriteByStrategy(std::string_view text, const RewriteInput& input);

// core/strategies/
StepGraph ReplicateOverBatch(const RewriteInput& input);
StepGraph ShardOverBatch(const RewriteInput& input);
StepGraph ShardGradients(const RewriteInput& input);
StepGraph ShardOptimizer(const RewriteInput& input);
StepGraph ShareExperts(const RewriteInput& input);
StepGraph SplitOverMatrices(const RewriteInput& input);
StepGraph SplitOverMatricesAndTokens(const RewriteInput& input);
StepGraph SplitOverTokens(const RewriteInput& input);
StepGraph SplitOverTokensInRing(const RewriteInput& input);
StepGraph WritePipeline1F1B(const RewriteInput& input);
StepGraph WritePipelineGPipe(const RewriteInput& input);
StepGraph WritePipelineInterleaved(const RewriteInput& input);
StepGraph WritePipelineZeroBubble(const RewriteInput& input);
StepGraph RecomputeBlocks(const RewriteInput& input);
StepGraph RecomputeSelectively(const RewriteInput& input);

}  // namespace lanescope
