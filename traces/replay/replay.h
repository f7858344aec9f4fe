// SPDX-License-Identifier: Apache-2.0
// When the tasks of a trace run, each as soon as what holds it up allows. Internal to traces and gui.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runs/run_view.h"
#include "traces/replay/replay_graph.h"

namespace lanescope::traces {

// By task.
struct Replayed {
  std::vector<int64_t> start_ns, end_ns;
  std::vector<int64_t> works_ns;  // from when on it does something: a collective waits first
};

Replayed Replay(const ReplayGraph& graph);

// The windows of the graph's steps, as those of the trace were made of what was measured.
std::vector<TraceStep> StepsOf(const ReplayGraph& graph, const Replayed& replayed);

// For StepPathFinder: commands are tasks, ops names. The graph must outlive it.
RunView ViewOfReplay(const ReplayGraph& graph, const Replayed& replayed);

}  // namespace lanescope::traces
