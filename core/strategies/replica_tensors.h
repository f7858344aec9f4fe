// SPDX-License-Identifier: Apache-2.0
// Tensors of the replicas of a step, and what is made of several of them. Internal to core.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/strategies/batch_parts.h"

namespace lanescope {

// Adds nodes behind those that are of the old graph.
class ReplicaTensors {
 public:
  // All must outlive it. `first`: by node of the old graph itself in the new one, or its first replica;
  // `copied`: how many nodes these are.
  ReplicaTensors(const RewriteInput& input, const ReplicaPlan& plan,
                 const IdVector<NodeId, ReplicaRole>& roles, const BatchParts& batch,
                 const IdVector<NodeId, NodeId>& first, int copied);

  // Shares out what is fed.
  void Split(const std::string& feed, int axis);
  Endpoint InReplica(Endpoint of, int r) const;
  // A replicated node's input as the node takes it. Throws InvalidArgument where it would need all replicas
  // at once, and they come one after the other.
  Endpoint Taken(NodeId reader, size_t input, int r);

  // A tensor that stands for that of the whole batch; `otherwise`: where nothing is known of it.
  enum class Otherwise : uint8_t {
    kMean,
    kShares,  // all rows, each of which counts as much as in a mean: those of an embedding's gradient
    kRows     // all rows as they are
  };
  Endpoint Joined(Endpoint of, Otherwise otherwise);

  const std::string& NameOf(Endpoint added) const { return At(added.node).name; }
  bool IsAdded(Endpoint of) const { return of.node.number() >= copied_; }
  std::vector<Node> TakeAdded() { return std::move(added_); }

 private:
  int replicas() const { return plan_.replicas; }
  const Node& At(NodeId added) const { return added_[added.index() - static_cast<size_t>(copied_)]; }
  NodeId Add(Node node);
  NodeId AddConstant(const std::string& name, const Tensor& value);
  void SetDevice(NodeId id, int replica, Node* node) const;
  std::string ScopeOf(Endpoint of) const;

  Endpoint Times(Endpoint tensor, Endpoint of, int replica, int degree, const std::string& scope,
                 const char* name);
  Endpoint Factor(const std::string& scope, DataType type, int degree);
  Endpoint Rows(Endpoint of, const std::string& scope, const Layout& rows);
  Endpoint Sum(Endpoint of, const std::string& scope);
  Endpoint OfAll(NodeId reader, Endpoint of, const BatchPart& taken);
  Endpoint OfWholeBatch(Endpoint of);
  Endpoint Write(Endpoint of, Otherwise otherwise);

  const Graph& graph_;
  const GraphInfo& info_;
  const ReplicaPlan& plan_;
  const IdVector<NodeId, ReplicaRole>& roles_;
  const BatchParts& batch_;
  const IdVector<NodeId, NodeId>& first_;
  const std::string scope_;  // of what is added
  const int copied_;
  std::vector<Node> added_;
  std::map<NodeId, NodeId> splits_;  // by fed node
  std::map<std::tuple<NodeId, int, Otherwise>, Endpoint> joins_;
  std::map<std::tuple<NodeId, int, int, int>, Endpoint> taken_;  // by output, degree and replica; -1: of all
  std::map<NodeId, NodeId> of_whole_batch_;
  std::map<std::pair<NodeId, int>, Endpoint> sums_;
};

}  // namespace lanescope
