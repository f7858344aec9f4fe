// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of strategies that write another graph.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/strategies/graph_strategy.h"
#include "study/measure/recorded_run.h"
#include "study/workload/placing.h"

namespace lanescope::study {

// The first fetch after some steps.
inline float LossAfter(const Workload& workload, const std::string& strategy, const Machine& machine,
                       int steps) {
  RecordedRun run(Place(workload, strategy, machine, RooflineCost()), machine, nullptr, {});
  run.RunToEnd(0, steps);
  return run.last_fetches().front().data<float>()[0];
}

// The step as a strategy writes it for so many virtual GPUs.
inline StepGraph StepBy(const std::string& strategy, const Workload& workload, int gpus) {
  const RooflineCost costs;
  const Machine machine = VirtualMachine(gpus, 1);
  return RewriteByStrategy(strategy, {workload.graph(), workload.spec(), workload.info(), machine, costs});
}

inline int64_t CountOf(std::string_view op, const Graph& graph) {
  return std::ranges::count(graph.nodes(), op, &Node::op);
}

// The shape of a node's first output there.
inline Shape ShapeIn(const StepGraph& step, const std::string& node) {
  const Workload written("written", step.graph, step.spec);
  return written.info().of({written.graph().FindNode(node), 0}).shape;
}

// A variable's part on the second GPU of a group.
inline Shape PartOnRank1(const std::string& variable, const Graph& graph) {
  return graph.node(graph.FindNode("rank_1/" + variable)).GetShapeAttr("shape");
}

// The message of an InvalidArgument; empty: `run` was not refused.
inline std::string RefusalOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.message();
  }
  return "";
}

}  // namespace lanescope::study
