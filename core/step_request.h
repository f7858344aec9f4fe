// From the run configuration of a graph to what its step compiles.
#pragma once

#include <string>
#include <vector>

#include "core/graph.h"
#include "core/run_spec.h"
#include "core/schedule.h"

namespace lanescope {

// Throws what FindEndpoint throws for a name that the graph lacks.
CompileRequest StepRequestOf(const Graph& graph, const RunSpec& spec);

// For a graph whose step is not configured: targets are the nodes whose results nobody uses, and placeholders
// that are not fed are fed, unknown sizes taken as 1. Returns one sentence for each placeholder of unknown
// size. Throws what InferGraph throws.
std::vector<std::string> ConfigureWholeGraph(const Graph& graph, RunSpec* spec);

}  // namespace lanescope
