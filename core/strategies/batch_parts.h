// SPDX-License-Identifier: Apache-2.0
// How every tensor of a step is shared out with the batch: the one answer for all strategies that
// do so. Internal to core.
#pragma once

#include <optional>
#include <string>

#include "core/strategies/batch_rules.h"
#include "core/strategies/replicator.h"

namespace lanescope {

// Goes through the replicated nodes from the feeds on. Where the batch is in a tensor is seen by the shapes
// that it has with a whole batch and with a part of it.
class BatchParts {
 public:
  // `roles`: of the graph's nodes; `count`: of parts. All must outlive it.
  BatchParts(const RewriteInput& input, const IdVector<NodeId, ReplicaRole>& roles, int count);

  const BatchPart& of(Endpoint tensor) const {
    return parts_[tensor.node][static_cast<size_t>(tensor.output)];
  }
  // How a replicated node takes an input: of(input) where it takes it as it is.
  const BatchPart& Taken(NodeId node, size_t input) const { return taken_[node][input]; }
  // Feeds and constants alone make it, so that it can be had of the whole batch before anything else.
  bool IsFed(NodeId node) const { return fed_[node] != 0; }

  // The first node of the step whose part cannot be computed by itself.
  struct Problem {
    NodeId node;
    std::string why;
  };
  const std::optional<Problem>& problem() const { return problem_; }

 private:
  void FindFed(NodeId id);
  void FindZero(NodeId id);
  void GoThrough(NodeId id, const GraphInfo& part);
  std::optional<int> DegreeOfSize(NodeId cast, const GraphInfo& part) const;
  bool IsSizes(NodeId id, const GraphInfo& part) const;
  std::optional<std::vector<int>> CutOf(const Shape& whole, const Shape& part) const;

  const Graph& graph_;
  const GraphInfo& info_;
  const IdVector<NodeId, ReplicaRole>& roles_;
  const int count_;
  IdVector<NodeId, char> needed_, fed_, zero_;
  IdVector<NodeId, std::vector<BatchPart>> parts_, taken_;
  std::optional<Problem> problem_;
};

}  // namespace lanescope
