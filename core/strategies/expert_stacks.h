// SPDX-License-Identifier: Apache-2.0
// Which variables of a graph are stacks of experts, and what of it has a part for each part of them. Internal
// to core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "core/graph/graph.h"
#include "core/graph/op.h"

namespace lanescope {

// As exports of PyTorch have mixtures: one variable [experts, ...] for all experts' matrices, from which the
// product of each expert takes its own.
class ExpertStacks {
 public:
  // Both must outlive it.
  ExpertStacks(const Graph& graph, const GraphInfo& info);

  bool empty() const { return experts_.empty(); }
  // The first stack whose experts do not divide by `parts`; none: they all do.
  NodeId FindOdd(int parts) const;
  bool IsVariable(NodeId id) const { return experts_.contains(id); }
  // How many experts a variable has that is a stack.
  int64_t ExpertsOf(NodeId variable) const { return experts_.at(variable); }
  // The variable, or what is computed of it element by element or by turning the other axes.
  bool IsInParts(NodeId id) const { return in_parts_[id] != 0; }
  bool IsUpdate(NodeId id) const;
  // Joins what is computed for each expert, for nodes that are in parts.
  bool IsJoined(NodeId id) const { return joined_.contains(id); }
  // The expert whose matrix a node takes out of a stack; none: it does not.
  std::optional<int64_t> ExpertTaken(NodeId id) const;

 private:
  bool IsRead(NodeId id) const;
  bool KeepsFirstAxis(NodeId id) const;
  NodeId StackOf(NodeId id) const;
  bool IsWritten(NodeId variable) const;
  void FindVariables();
  void AddSlots();
  void FindInParts();

  const Graph& graph_;
  const GraphInfo& info_;
  const Fanout fanout_;
  std::map<NodeId, int64_t> experts_;  // by variable, optimizer's state too
  IdVector<NodeId, char> in_parts_;
  std::set<NodeId> joined_;
};

}  // namespace lanescope
