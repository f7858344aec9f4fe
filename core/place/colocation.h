// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that must share a device, with what their members ask for: a union-find whose roots carry
// the merged constraints. TensorFlow's rules (V1 placer), with its error texts. Internal to core.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/place/device_table.h"
#include "core/place/placer.h"

namespace lanescope {

// Refers to everything it is given. Not thread-safe (path compression).
class ColocationGraph {
 public:
  // Throws what cannot be placed whatever is chosen: ops without a kernel, malformed names, conflicts across
  // reference and resource edges.
  // `order`: the nodes in a topological order.
  ColocationGraph(const Graph& graph, std::span<const NodeId> order, const DeviceTable& devices,
                  const KernelTable& kernels, const OpRegistry& registry, const PlacerOptions& options);

  // Devices that the node's group may be placed on, best first; never empty. Throws InvalidArgument.
  std::vector<DeviceId> Candidates(NodeId node);
  // The group of `node` stays on `device` from now on.
  void Assign(NodeId node, DeviceId device);

 private:
  // `requested` always repeats what `assigned` and `resource` say.
  struct Member {
    NodeId parent;
    int rank = 0;
    DeviceId device;  // chosen by Assign
    TypeChoices types;
    DeviceName assigned;   // given by the caller: never changed
    DeviceName resource;   // asked for by a generator of state: changed last
    DeviceName requested;  // asked for by any member, merged
  };

  Member& member(NodeId id) { return members_[id]; }
  const Node& node(NodeId id) const { return graph_.node(id); }
  const std::string& RequestOf(NodeId id) const;
  NodeId Root(NodeId id);
  void InitMember(NodeId id);
  void InitAssigned(NodeId id, const std::string& device);
  TypeChoices SupportedTypes(NodeId id) const;
  void CheckAcrossEdge(NodeId src, NodeId dst);
  void ColocateAcrossEdge(NodeId src, NodeId dst);
  void ColocateByAttributes();
  void Colocate(NodeId x, NodeId y);
  const std::vector<DeviceId>& FreeCandidates(const TypeChoices& types);
  std::vector<DeviceId> SoftCandidates(const Member& root) const;
  [[noreturn]] void ThrowUnsatisfied(NodeId id, NodeId root);
  std::string DebugInfo(NodeId root);

  const Graph& graph_;
  const std::span<const NodeId> order_;
  const DeviceTable& devices_;
  const KernelTable& kernels_;
  const OpRegistry& registry_;
  const PlacerOptions& options_;
  DeviceName local_;  // the address space of this process
  IdVector<NodeId, Member> members_;
  // Candidates of groups without any request, by the types that they support: most nodes share a few.
  std::vector<std::pair<TypeChoices, std::vector<DeviceId>>> free_candidates_;
};

}  // namespace lanescope
