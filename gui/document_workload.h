// The graph of a run, with the configuration of its step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/graph.h"
#include "core/op.h"
#include "core/run_spec.h"
#include "core/schedule.h"

namespace lanescope::gui {

// Immutable after ReadStepGraph; not copyable, since others refer to the graph.
struct StepGraph {
  std::string path;
  Graph graph;
  RunSpec spec;
  GraphInfo info;
  CompileRequest request;

  StepGraph() = default;
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;
};

// Reads the graph and the run configuration beside it; without one the step is the whole graph. Throws what
// ReadGraph, ReadRunSpecBeside and InferGraph throw.
std::shared_ptr<const StepGraph> ReadStepGraph(const std::string& path);

// Where a graph of that file name may be: the trace's folder and its parents, the working directory, each
// with its `graphs` and `samples/graphs`, and `folders`. Empty: nowhere.
std::string FindGraphFile(const std::string& name, const std::string& trace_path,
                          const std::vector<std::string>& folders);

}  // namespace lanescope::gui
