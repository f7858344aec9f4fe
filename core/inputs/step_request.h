// SPDX-License-Identifier: Apache-2.0
// From the run configuration of a graph to what its step compiles.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/inputs/run_spec.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// The request of tensor and node names: the feeds in their order, then the fetches, then the targets. Every
// request by name is made here. Throws what FindEndpoint throws for a name that the graph lacks,
// InvalidArgument for an output that its node does not have and for what is fed twice.
CompileRequest MakeCompileRequest(const Graph& graph,
                                  std::span<const std::pair<std::string, TensorInfo>> feeds,
                                  std::span<const std::string> fetches, std::span<const std::string> targets);
// Names, dtypes and shapes of what a run configuration feeds.
std::vector<std::pair<std::string, TensorInfo>> FeedInfos(const RunSpec& spec);
// The request of a run configuration.
CompileRequest StepRequestOf(const Graph& graph, const RunSpec& spec);

// By node: whether it runs before the steps, or a step reads or runs it. What a feed replaces is read, and
// what that comes from is not.
IdVector<NodeId, char> NodesOfStep(const Graph& graph, const RunSpec& spec, const CompileRequest& request);

// For a graph whose step is not configured: targets are the nodes whose results nobody uses, and placeholders
// that are not fed are fed, unknown sizes taken as 1; of one of unknown rank nothing is known. Returns one
// sentence for each placeholder of unknown size. Throws what InferGraph throws.
std::vector<std::string> ConfigureWholeGraph(const Graph& graph, RunSpec* spec);

}  // namespace lanescope
