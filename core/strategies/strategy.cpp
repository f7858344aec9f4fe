// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/strategy.h"

#include <array>

#include "core/base/error.h"
#include "core/place/kernel_table.h"
#include "core/strategies/graph_strategy.h"

namespace lanescope {
namespace {

constexpr std::array<Strategy, 12> kStrategies{{
    {"alternating", "op by op over the GPUs in turn, to show what copies cost", &PlaceAlternating},
    {"annotated", "the graph's own device fields and the placer's rules", &PlaceAnnotated, Effort::kRules},
    {"greedy", "runs the graph in thought; each op goes where it ends soonest", &PlaceGreedy, Effort::kTimes},
    {"heft", "the op with the longest way to the end first, where it ends soonest", &PlaceHeft,
     Effort::kTimes},
    {"m-etf", "whatever can start soonest where memory allows it", &PlaceMEtf, Effort::kTimes},
    {"m-sct", "the same, but an op's favourite successor stays with it", &PlaceMSct, Effort::kTimes},
    {"parameter-server", "variables in host memory, the rest as tower-split", &PlaceParameterServer},
    {"parameter-server-bytes", "variables on the GPU that holds the fewest bytes, the rest as tower-split",
     &PlaceParameterServersByBytes},
    {"parameter-server-turn", "variables over the GPUs in turn, the rest as tower-split",
     &PlaceParameterServersInTurn},
    {"round-robin", "variable by variable over the GPUs in turn, ops where their variables are",
     &PlaceRoundRobin},
    {"single", "everything on the first GPU, whatever the device fields say", &PlaceSingle, Effort::kRules},
    {"tower-split", "finds the parallel towers of the graph and gives each a GPU", &PlaceTowerSplit},
}};

const KernelTable& KernelsOf(const StrategyInput& input) {
  return input.placer.kernels == nullptr ? KernelTable::Global() : *input.placer.kernels;
}

// The wish of each group: that of its first member that has one and whose kernels allow it.
IdVector<NodeId, DeviceId> WishesOfGroups(const StrategyInput& input,
                                          const IdVector<NodeId, DeviceId>& wishes,
                                          const IdVector<NodeId, NodeId>& groups) {
  IdVector<NodeId, DeviceId> wish_of_group(wishes.size());
  for (const NodeId id : input.graph.TopologicalOrder()) {
    const DeviceId wished = wishes[id];
    DeviceId& wish = wish_of_group[groups[id]];
    if (!wished.exists() || wish.exists()) continue;
    const std::string& type = input.machine.device(wished).parsed.type;
    if (KernelsOf(input).Find(input.graph.node(id), type) != nullptr) wish = wished;
  }
  return wish_of_group;
}

bool IsPlacementText(std::string_view strategy) { return strategy.starts_with('{'); }

}  // namespace

std::span<const Strategy> Strategies() { return kStrategies; }

Placement PlaceByStrategy(std::string_view name, const StrategyInput& input) {
  if (name.starts_with('@')) {
    return ReadPlacement(std::string(name.substr(1)), input.graph, input.machine, PlaceAnnotated(input));
  }
  if (IsPlacementText(name)) return ParsePlacement(name, input.graph, input.machine, PlaceAnnotated(input));
  std::string known;
  for (const Strategy& strategy : kStrategies) {
    if (strategy.name == name) return strategy.place(input);
    known.append(strategy.name).append(", ");
  }
  if (IsGraphStrategy(name)) {
    Throw(
        Code::kInvalidArgument,
        "{} writes another graph, and this needs a placement of the one that is there; write it with `place "
        "--strategy {} -o FILE.pb` and take that",
        name, name);
  }
  for (const GraphStrategy& strategy : GraphStrategies()) known.append(strategy.name).append(", ");
  Throw(Code::kNotFound, "no strategy '{}': use one of {}@placement.json or exec:PROGRAM", name, known);
}

std::string StrategyLabel(std::string_view strategy) {
  return IsPlacementText(strategy) ? "placement" : std::string(strategy);
}

IdVector<NodeId, DeviceId> FollowNeighbours(const Graph& graph, const IdVector<NodeId, NodeId>& groups,
                                            IdVector<NodeId, DeviceId> device_of_group) {
  const auto device = [&](NodeId id) -> DeviceId& { return device_of_group[groups[id]]; };
  const std::vector<NodeId> order = graph.TopologicalOrder();
  const Fanout fanout = ComputeFanout(graph);
  for (const NodeId id : order) {
    for (const Endpoint& input : graph.node(id).inputs) {
      if (!device(id).exists()) device(id) = device(input.node);
    }
  }
  for (size_t i = order.size(); i-- > 0;) {
    for (const NodeUse& edge : fanout[order[i]]) {
      if (!device(order[i]).exists() && edge.input >= 0) device(order[i]) = device(edge.node);
    }
  }
  IdVector<NodeId, DeviceId> wishes;
  for (const NodeId id : graph.node_ids()) wishes.Add(device(id));
  return wishes;
}

// A wish stands in for the device field of all members of the group: the placer then applies its rules, and
// softens a wish that it cannot grant.
Placement PlaceWithWishes(const StrategyInput& input, const IdVector<NodeId, DeviceId>& wishes) {
  LANESCOPE_CHECK(wishes.size() == input.graph.num_nodes());
  const IdVector<NodeId, NodeId> groups = ColocationGroups(input.graph, input.placer.registry);
  const IdVector<NodeId, DeviceId> wish_of_group = WishesOfGroups(input, wishes, groups);
  PlacerOptions options = input.placer;
  options.soft_placement = true;
  options.requested.clear();
  for (const NodeId id : input.graph.node_ids()) {
    const DeviceId wish = wish_of_group[groups[id]];
    options.requested.Add(wish.exists() ? input.machine.device(wish).name : input.graph.node(id).device);
  }
  return PlaceGraph(input.graph, input.machine, options);
}

}  // namespace lanescope
