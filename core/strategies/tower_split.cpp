#include <algorithm>

#include "core/strategies/strategy.h"
#include "core/strategies/towers.h"

namespace lanescope {
namespace {

// Rounds of spreading labels; two suffice for a training graph, more only reach nodes off its main path.
constexpr int kMaxRounds = 8;

std::vector<double> WorkOfNodes(const StrategyInput& input, DeviceId device) {
  std::vector<double> work;
  for (int id = 0; id < input.graph.num_nodes(); ++id) {
    const Node& node = input.graph.node(id);
    const OpDef* def = OpRegistry::Global().Find(node.op);
    const bool idle = node.inputs.empty() ||
                      (def != nullptr && (def->metadata || def->host_only || def->alias != AliasRule::kNone));
    if (idle) {
      work.push_back(0);
      continue;
    }
    std::vector<TensorInfo> inputs;
    for (const Endpoint& endpoint : node.inputs) inputs.push_back(input.info.of(endpoint));
    const auto ns = input.costs.Launch(input.machine, device, node, inputs, input.info.outputs(id)).ns;
    work.push_back(std::max(1.0, static_cast<double>(ns)));
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
    for (size_t id = 0; id < towers.label.size(); ++id) Join(static_cast<int>(id), towers.label[id]);
    Join(towers.join, Towers::kShared);
    for (const int group : groups_) ++group_size_[static_cast<size_t>(group)];
    for (const Node& node : graph_.nodes()) {
      runs_on_gpu_.push_back(kernels_.Find(node, "GPU") != nullptr);
    }
  }

  // The label of every node.
  std::vector<int> Run() {
    bool changed = true;
    for (int round = 0; round < kMaxRounds && changed; ++round) {
      changed = false;
      for (size_t i = order_.size(); i-- > 0;) changed |= FollowConsumers(order_[i]);
      for (const int id : order_) changed |= FollowInputs(id);
    }
    for (const int id : order_) ReturnToShared(id);
    std::vector<int> labels;
    for (size_t id = 0; id < groups_.size(); ++id) labels.push_back(LabelOf(static_cast<int>(id)));
    return labels;
  }

 private:
  size_t GroupOf(int id) const { return static_cast<size_t>(groups_[static_cast<size_t>(id)]); }
  int LabelOf(int id) const { return group_label_[GroupOf(id)]; }
  static bool IsTower(int label) { return label >= 0; }

  // A group that two towers claim is shared.
  void Join(int id, int label) {
    int& current = group_label_[GroupOf(id)];
    if (label == Towers::kUnknown || current == label) return;
    current = current == Towers::kUnknown ? label : Towers::kShared;
  }

  bool Adopt(int id, int label) {
    if (label == Towers::kUnknown) return false;
    group_label_[GroupOf(id)] = label;
    spread_[static_cast<size_t>(id)] = true;
    return true;
  }

  // The one tower among a node's users; users outside all towers do not count.
  bool FollowConsumers(int id) {
    if (LabelOf(id) != Towers::kUnknown) return false;
    int label = Towers::kUnknown;
    for (const NodeUse& edge : fanout_[id]) {
      if (edge.input >= 0) label = OneTower(label, LabelOf(edge.node));
    }
    return Adopt(id, label);
  }

  // The one tower whose GPU memory a node reads. What the host computes or keeps (shapes) is no nearer to one
  // GPU than to another.
  bool FollowInputs(int id) {
    if (LabelOf(id) != Towers::kUnknown) return false;
    int label = Towers::kUnknown;
    const std::vector<Endpoint>& inputs = graph_.node(id).inputs;
    const std::vector<bool> in_host_memory = kernels_.HostInputs(graph_.node(id), "GPU");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i < in_host_memory.size() && in_host_memory[i]) continue;
      if (runs_on_gpu_[static_cast<size_t>(inputs[i].node)]) label = OneTower(label, LabelOf(inputs[i].node));
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
  void ReturnToShared(int id) {
    const bool may_move = spread_[static_cast<size_t>(id)] && group_size_[GroupOf(id)] == 1;
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
  const std::vector<int> order_;
  const std::vector<int> groups_;
  const Fanout fanout_;
  std::vector<int> group_label_;
  std::vector<int> group_size_;
  std::vector<bool> runs_on_gpu_;  // by node
  std::vector<bool> spread_;       // by node: got its label here
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
  std::vector<DeviceId> wishes;
  for (const int label : LabelSpreader(input, std::move(towers)).Run()) {
    wishes.push_back(label < 0 ? gpus.front() : gpus[static_cast<size_t>(label) % gpus.size()]);
  }
  return PlaceWithWishes(input, wishes);
}

}  // namespace lanescope
