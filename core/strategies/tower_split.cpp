// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/place/kernel_table.h"
#include "core/strategies/strategy.h"
#include "core/strategies/towers.h"

namespace lanescope {
namespace {

// Rounds of spreading labels; two suffice for a training graph, more only reach nodes off its main path.
constexpr int kMaxRounds = 8;

IdVector<NodeId, double> WorkOfNodes(const StrategyInput& input, DeviceId device) {
  IdVector<NodeId, double> work;
  for (const NodeId id : input.graph.node_ids()) {
    const Node& node = input.graph.node(id);
    const OpDef* def = OpRegistry::Global().Find(node.op);
    const bool idle = node.inputs.empty() ||
                      (def != nullptr && (def->metadata || def->host_only || def->alias != AliasRule::kNone));
    if (idle) {
      work.Add(0);
      continue;
    }
    std::vector<TensorInfo> inputs;
    for (const Endpoint& endpoint : node.inputs) inputs.push_back(input.info.of(endpoint));
    const auto ns = input.costs.Launch(input.machine, device, node, inputs, input.info.outputs(id)).ns;
    work.Add(std::max(1.0, static_cast<double>(ns)));
  }
  return work;
}

// Spreads the labels of the towers over what belongs to them: variables with their slots and updates
// (colocation groups), and gradients.
class LabelSpreader {
 public:
  LabelSpreader(const StrategyInput& input, Towers towers)
      : graph_(input.graph),
        info_(input.info),
        kernels_(input.placer.kernels == nullptr ? KernelTable::Global() : *input.placer.kernels),
        order_(input.graph.TopologicalOrder()),
        groups_(ColocationGroups(input.graph, input.placer.registry)),
        fanout_(ComputeFanout(input.graph)),
        group_label_(groups_.size(), Towers::kUnknown),
        group_size_(groups_.size(), 0),
        spread_(groups_.size(), false) {
    for (const NodeId id : towers.label.ids()) Join(id, towers.label[id]);
    Join(towers.join, Towers::kShared);
    for (const NodeId group : groups_) ++group_size_[group];
    for (const Node& node : graph_.nodes()) {
      runs_on_gpu_.Add(kernels_.Find(node, "GPU") != nullptr);
    }
  }

  // The label of every node.
  IdVector<NodeId, int> Run() {
    bool changed = true;
    for (int round = 0; round < kMaxRounds && changed; ++round) {
      changed = false;
      for (size_t i = order_.size(); i-- > 0;) changed |= FollowConsumers(order_[i]);
      for (const NodeId id : order_) changed |= FollowInputs(id);
    }
    for (const NodeId id : order_) ReturnToShared(id);
    IdVector<NodeId, int> labels;
    for (const NodeId id : groups_.ids()) labels.Add(LabelOf(id));
    return labels;
  }

 private:
  NodeId GroupOf(NodeId id) const { return groups_[id]; }
  int LabelOf(NodeId id) const { return group_label_[GroupOf(id)]; }
  static bool IsTower(int label) { return label >= 0; }

  // A group that two towers claim is shared.
  void Join(NodeId id, int label) {
    int& current = group_label_[GroupOf(id)];
    if (label == Towers::kUnknown || current == label) return;
    current = current == Towers::kUnknown ? label : Towers::kShared;
  }

  bool Adopt(NodeId id, int label) {
    if (label == Towers::kUnknown) return false;
    group_label_[GroupOf(id)] = label;
    spread_[id] = true;
    return true;
  }

  // The one tower among a node's users; users outside all towers do not count.
  bool FollowConsumers(NodeId id) {
    if (LabelOf(id) != Towers::kUnknown) return false;
    int label = Towers::kUnknown;
    for (const NodeUse& edge : fanout_[id]) {
      if (edge.input >= 0) label = OneTower(label, LabelOf(edge.node));
    }
    return Adopt(id, label);
  }

  // The one tower whose GPU memory a node reads. What the host computes or keeps (shapes) is no nearer to one
  // GPU than to another.
  bool FollowInputs(NodeId id) {
    if (LabelOf(id) != Towers::kUnknown) return false;
    int label = Towers::kUnknown;
    const std::vector<Endpoint>& inputs = graph_.node(id).inputs;
    const std::vector<bool> in_host_memory = kernels_.HostInputs(graph_.node(id), "GPU");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i < in_host_memory.size() && in_host_memory[i]) continue;
      if (runs_on_gpu_[inputs[i].node]) label = OneTower(label, LabelOf(inputs[i].node));
    }
    return Adopt(id, label);
  }

  // Unknown until a tower is met, shared once a second one is.
  static int OneTower(int label, int other) {
    if (!IsTower(other) || label == other) return label;
    return label == Towers::kUnknown ? other : Towers::kShared;
  }

  // Where the shared part ends and a tower's gradients begin, an op stands on the side from which fewer bytes
  // cross: one that reads more from the shared part than it hands to its tower stays with the shared part.
  void ReturnToShared(NodeId id) {
    const bool may_move = spread_[id] && group_size_[GroupOf(id)] == 1;
    if (!may_move || !IsTower(LabelOf(id)) || graph_.node(id).inputs.empty()) return;
    int64_t from_outside = 0, from_tower = 0;
    for (const Endpoint& input : graph_.node(id).inputs) {
      (LabelOf(input.node) == LabelOf(id) ? from_tower : from_outside) += BytesOf(info_.of(input));
    }
    int64_t handed_over = 0;
    for (const TensorInfo& output : info_.outputs(id)) handed_over += BytesOf(output);
    if (from_tower == 0 && from_outside > handed_over) group_label_[GroupOf(id)] = Towers::kShared;
  }

  const Graph& graph_;
  const GraphInfo& info_;
  const KernelTable& kernels_;
  const std::vector<NodeId> order_;
  const IdVector<NodeId, NodeId> groups_;
  const Fanout fanout_;
  IdVector<NodeId, int> group_label_;
  IdVector<NodeId, int> group_size_;
  IdVector<NodeId, bool> runs_on_gpu_;  // by node
  IdVector<NodeId, bool> spread_;       // by node: got its label here
};

}  // namespace

// Each parallel tower with its variables, gradients and updates on a GPU of its own, in turn; what the towers
// share (inputs, shared variables, the loss) on the first GPU. Device fields of the graph are ignored. A
// graph without towers goes to the first GPU as a whole.
Placement PlaceTowerSplit(const StrategyInput& input) {
  const std::vector<DeviceId> gpus = input.machine.Gpus();
  if (gpus.size() < 2) return PlaceSingle(input);
  Towers towers = FindTowers(input.graph, input.info, WorkOfNodes(input, gpus.front()));
  if (towers.count == 0) return PlaceSingle(input);
  IdVector<NodeId, DeviceId> wishes;
  for (const int label : LabelSpreader(input, std::move(towers)).Run()) {
    wishes.Add(label < 0 ? gpus.front() : gpus[static_cast<size_t>(label) % gpus.size()]);
  }
  return PlaceWithWishes(input, wishes);
}

}  // namespace lanescope
