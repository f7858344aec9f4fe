// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/place/kernel_table.h"
#include "core/strategies/strategy.h"

namespace lanescope {
namespace {

enum class Part {
  kWork,      // runs on a GPU: takes a turn
  kState,     // has a variable: follows the first reader
  kFollower,  // neither: moves with what it reads, or with what reads it
};

// Ops that do no work of their own, or do it once, before the steps.
bool IsIdle(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def == nullptr) return false;
  return node.inputs.empty() || def->metadata || def->host_only || def->alias != AliasRule::kNone ||
         def->role == StateRole::kUpdate || def->role == StateRole::kRead;
}

bool IsVariable(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  return def != nullptr && def->role == StateRole::kVariable;
}

// Gives colocation groups their GPUs, indexed by the group's number.
class Alternation {
 public:
  explicit Alternation(const StrategyInput& input)
      : graph_(input.graph),
        gpus_(input.machine.Gpus()),
        order_(input.graph.TopologicalOrder()),
        groups_(ColocationGroups(input.graph, input.placer.registry)),
        fanout_(ComputeFanout(input.graph)),
        part_(groups_.size(), Part::kFollower),
        device_(groups_.size()) {
    const KernelTable& kernels =
        input.placer.kernels == nullptr ? KernelTable::Global() : *input.placer.kernels;
    for (const NodeId id : order_) {
      Part& part = part_[GroupOf(id)];
      if (IsVariable(graph_.node(id))) part = Part::kState;
      if (part == Part::kState || IsIdle(graph_.node(id))) continue;
      if (kernels.Find(graph_.node(id), "GPU") != nullptr) part = Part::kWork;
    }
  }

  IdVector<NodeId, DeviceId> Run() {
    for (const NodeId id : order_) {
      if (part_[GroupOf(id)] == Part::kWork && !IsIdle(graph_.node(id))) TakeTurn(id);
    }
    for (const NodeId id : order_) FollowReader(id);
    return FollowNeighbours(graph_, groups_, std::move(device_));
  }

 private:
  NodeId GroupOf(NodeId id) const { return groups_[id]; }

  void TakeTurn(NodeId id) {
    DeviceId& device = device_[GroupOf(id)];
    if (device.exists()) return;
    device = gpus_[turn_];
    turn_ = (turn_ + 1) % gpus_.size();
  }

  // State goes to the first reader outside its group (order_ makes it the first in the graph). State that
  // only its own group reads is work like any other.
  void FollowReader(NodeId id) {
    const NodeId group = GroupOf(id);
    if (part_[group] != Part::kState || device_[group].exists()) return;
    for (const NodeId reader : ReadersOutside(group)) {
      const DeviceId device = device_[GroupOf(reader)];
      if (!device.exists()) continue;
      device_[group] = device;
      return;
    }
    TakeTurn(id);
  }

  // Data users of the group's members that are in other groups, in topological order.
  std::vector<NodeId> ReadersOutside(NodeId group) {
    if (members_.empty()) {
      members_.resize(groups_.size());
      for (const NodeId id : order_) members_[GroupOf(id)].push_back(id);
    }
    std::vector<NodeId> readers;
    for (const NodeId id : members_[group]) {
      for (const NodeUse& edge : fanout_[id]) {
        if (edge.input >= 0 && GroupOf(edge.node) != group) readers.push_back(edge.node);
      }
    }
    return readers;
  }

  const Graph& graph_;
  const std::vector<DeviceId> gpus_;
  const std::vector<NodeId> order_;
  const IdVector<NodeId, NodeId> groups_;
  const Fanout fanout_;
  IdVector<NodeId, Part> part_;                    // by group
  IdVector<NodeId, DeviceId> device_;              // by group
  IdVector<NodeId, std::vector<NodeId>> members_;  // by group, filled when asked for
  size_t turn_ = 0;
};

}  // namespace

// Consecutive ops on different GPUs, so that nearly every tensor of the model is copied. Device fields of the
// graph are ignored.
Placement PlaceAlternating(const StrategyInput& input) {
  if (input.machine.Gpus().size() < 2) return PlaceSingle(input);
  return PlaceWithWishes(input, Alternation(input).Run());
}

}  // namespace lanescope
