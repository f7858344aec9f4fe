// SPDX-License-Identifier: Apache-2.0
// Placement strategies: one file each under core/strategies/, one function each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "core/place/placement.h"
#include "core/place/placer.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"

namespace lanescope {

struct StrategyInput {
  const Graph& graph;
  const GraphInfo& info;  // with the feed shapes of the run
  const Machine& machine;
  const CostModel& costs;
  const PlacerOptions& placer;
  const CompileRequest* step = nullptr;  // what a step runs; null: the whole graph
};

// The data that a strategy looks at, which decide how long it takes.
enum class Effort : uint8_t { kRules, kGraph, kTimes };

struct Strategy {
  std::string_view name;
  std::string_view summary;  // one line for --help
  Placement (*place)(const StrategyInput& input);
  Effort effort = Effort::kGraph;
};

// All strategies by name; a new one is one file and one line in strategy.cpp.
std::span<const Strategy> Strategies();
// Runs `name`, or takes "@placement.json", or the text of such a file, on top of `annotated`. Throws NotFound
// listing the names.
Placement PlaceByStrategy(std::string_view name, const StrategyInput& input);
// How tables call what PlaceByStrategy takes: the text of a placement is called "placement".
std::string StrategyLabel(std::string_view strategy);

// Places the graph by the placer's rules after `prefer` has chosen a device for the nodes it cares about (-1:
// no wish). The wish of a node's colocation group is that of its first member in topological order; wishes
// that the kernel table excludes are dropped.
Placement PlaceWithWishes(const StrategyInput& input, const IdVector<NodeId, DeviceId>& wishes);
// Wishes by node from devices by colocation group (as ColocationGroups numbers them). A group
// without one goes where its members' inputs are made, else where its results are read.
IdVector<NodeId, DeviceId> FollowNeighbours(const Graph& graph, const IdVector<NodeId, NodeId>& groups,
                                            IdVector<NodeId, DeviceId> device_of_group);

// The strategies.
Placement PlaceAnnotated(const StrategyInput& input);
Placement PlaceSingle(const StrategyInput& input);
Placement PlaceTowerSplit(const StrategyInput& input);
Placement PlaceAlternating(const StrategyInput& input);
Placement PlaceRoundRobin(const StrategyInput& input);
Placement PlaceGreedy(const StrategyInput& input);
Placement PlaceHeft(const StrategyInput& input);
Placement PlaceMEtf(const StrategyInput& input);
Placement PlaceMSct(const StrategyInput& input);
Placement PlaceParameterServer(const StrategyInput& input);
Placement PlaceParameterServersInTurn(const StrategyInput& input);
Placement PlaceParameterServersByBytes(const StrategyInput& input);

}  // namespace lanescope
