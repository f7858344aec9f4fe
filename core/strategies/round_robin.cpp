// SPDX-License-Identifier: Apache-2.0
// Variables take the GPUs in turn, as tf.train.replica_device_setter deals them to parameter servers
// (RoundRobinStrategy of TensorFlow 1.x, python/training/device_setter.py); ops go where the first variable
// that they read is, other ops where their inputs are. A network so becomes layers on one GPU after the
// other.
#include "core/place/kernel_table.h"
#include "core/strategies/strategy.h"

namespace lanescope {

Placement PlaceRoundRobin(const StrategyInput& input) {
  const std::vector<DeviceId> gpus = input.machine.Gpus();
  if (gpus.size() < 2) return PlaceSingle(input);
  const KernelTable& kernels =
      input.placer.kernels == nullptr ? KernelTable::Global() : *input.placer.kernels;
  const IdVector<NodeId, NodeId> groups = ColocationGroups(input.graph, input.placer.registry);
  IdVector<NodeId, DeviceId> device(groups.size());
  IdVector<NodeId, bool> hands_on(groups.size(), false);  // a variable, or nothing but its value
  size_t turn = 0;
  const auto group_of = [&](NodeId id) { return groups[id]; };
  for (const NodeId id : input.graph.TopologicalOrder()) {
    const OpDef* def = OpRegistry::Global().Find(input.graph.node(id).op);
    DeviceId& mine = device[group_of(id)];
    if (mine.exists() || def == nullptr || def->role != StateRole::kVariable) continue;
    if (kernels.Find(input.graph.node(id), "GPU") == nullptr) continue;
    mine = gpus[turn++ % gpus.size()];
    hands_on[group_of(id)] = true;
  }
  if (turn == 0) return PlaceSingle(input);
  for (const NodeId id : input.graph.TopologicalOrder()) {
    const OpDef* def = OpRegistry::Global().Find(input.graph.node(id).op);
    for (const Endpoint& read : input.graph.node(id).inputs) {
      if (device[group_of(id)].exists() || !hands_on[group_of(read.node)]) continue;
      device[group_of(id)] = device[group_of(read.node)];
      hands_on[group_of(id)] =
          def != nullptr && (def->alias != AliasRule::kNone || def->role == StateRole::kRead);
    }
  }
  return PlaceWithWishes(input, FollowNeighbours(input.graph, groups, std::move(device)));
}

}  // namespace lanescope
