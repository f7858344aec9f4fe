// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a step stand along its forward pass. Internal to core.
#pragma once

#include <vector>

#include "core/strategies/replicator.h"

namespace lanescope {

// Places in the order of the forward pass. Whatever else there is belongs to one of them: gradients to that
// of what they read, what is computed again to that of what it repeats, variables to that of their first
// reader, updates to that of their variable.
class ForwardOrder {
 public:
  // Both must outlive it. Throws InvalidArgument where nothing depends on the batch, or nothing says what is
  // forward.
  ForwardOrder(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles);

  int num_places() const { return num_places_; }
  // The place of a node; -1: it belongs nowhere.
  int place(NodeId id) const { return place_[id]; }
  // Before the loss; other nodes that depend on the batch go backward.
  bool is_forward(NodeId id) const { return forward_[id]; }
  // It is of the forward pass, and what waits for gradients is computed again.
  bool is_dropped(NodeId id) const { return dropped_[id]; }

 private:
  const Node& node(NodeId id) const { return input_.graph.node(id); }
  bool IsReplicated(NodeId id) const { return roles_[id] == ReplicaRole::kReplicated; }
  bool IsUpdating(NodeId id) const { return roles_[id] == ReplicaRole::kUpdating; }
  template <typename Visit>
  void ForEachBefore(NodeId id, const Visit& visit) const {
    for (const Endpoint& endpoint : node(id).inputs) visit(endpoint.node);
    for (const NodeId control : node(id).control_inputs) visit(control);
  }

  void FindForward();
  void PlaceForward();
  void PlaceShared();
  void KeepGroups();
  void PlaceBackward();
  int PlaceOfGradient(NodeId id, const Fanout& fanout) const;
  void PlaceUpdates();

  const RewriteInput& input_;
  const IdVector<NodeId, ReplicaRole>& roles_;
  const std::vector<NodeId> order_;
  const IdVector<NodeId, NodeId> groups_;
  const IdVector<NodeId, NodeId> repeats_;  // by node: what it computes again, or itself
  IdVector<NodeId, int> place_;
  IdVector<NodeId, bool> forward_;
  IdVector<NodeId, bool> dropped_;
  IdVector<NodeId, bool> of_variables_;  // it is a variable, or computed of some alone
  IdVector<NodeId, int> of_group_;       // by group: the place of its state
  int num_places_ = 0;
};

}  // namespace lanescope
