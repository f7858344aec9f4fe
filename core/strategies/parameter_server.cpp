// SPDX-License-Identifier: Apache-2.0
// Variables and what updates them stay in host memory, where workers fetch them and bring gradients
// (tf.train.replica_device_setter with one parameter server; Li et al., "Scaling Distributed Machine Learning
// with the Parameter Server", 2014); all else goes where tower-split puts it. On several servers variables go
// round the GPUs in turn (RoundRobinStrategy), or to the one that holds the fewest bytes
// (GreedyLoadBalancingStrategy with byte_size_load_fn of TensorFlow 1.x).
#include <algorithm>

#include "core/strategies/strategy.h"

namespace lanescope {
namespace {

enum class Servers { kHost, kInTurn, kByBytes };

// By group: what its variables hold, or -1 if it has none.
IdVector<NodeId, int64_t> VariableBytes(const StrategyInput& input, const IdVector<NodeId, NodeId>& groups) {
  IdVector<NodeId, int64_t> bytes(groups.size(), -1);
  for (const NodeId id : input.graph.node_ids()) {
    const OpDef* def = OpRegistry::Global().Find(input.graph.node(id).op);
    if (def == nullptr || def->role != StateRole::kVariable) continue;
    const TensorInfo& info = input.info.of({id, 0});
    int64_t& held = bytes[groups[id]];
    held = std::max<int64_t>(0, held) + BytesOf(info.handle != nullptr ? *info.handle : info);
  }
  return bytes;
}

Placement PlaceOnServers(const StrategyInput& input, Servers servers) {
  const std::vector<DeviceId> gpus = input.machine.Gpus();
  const Placement towers = PlaceTowerSplit(input);
  const IdVector<NodeId, NodeId> groups = ColocationGroups(input.graph, input.placer.registry);
  const IdVector<NodeId, int64_t> bytes = VariableBytes(input, groups);
  std::vector<int64_t> held(gpus.size(), 0);
  IdVector<NodeId, DeviceId> device = towers.device;
  IdVector<NodeId, DeviceId> server(groups.size());
  size_t turn = 0;
  for (const NodeId id : input.graph.TopologicalOrder()) {
    const NodeId group = groups[id];
    if (bytes[group] < 0) continue;
    if (!server[group].exists()) {
      size_t next = turn++ % std::max<size_t>(1, gpus.size());
      if (servers == Servers::kByBytes)
        next = static_cast<size_t>(std::min_element(held.begin(), held.end()) - held.begin());
      if (servers == Servers::kHost || gpus.empty()) {
        server[group] = input.machine.host();
      } else {
        server[group] = gpus[next];
        held[next] += bytes[group];
      }
    }
    device[id] = server[group];
  }
  return PlaceWithWishes(input, device);
}

}  // namespace

Placement PlaceParameterServer(const StrategyInput& input) { return PlaceOnServers(input, Servers::kHost); }
Placement PlaceParameterServersInTurn(const StrategyInput& input) {
  return PlaceOnServers(input, Servers::kInTurn);
}
Placement PlaceParameterServersByBytes(const StrategyInput& input) {
  return PlaceOnServers(input, Servers::kByBytes);
}

}  // namespace lanescope
