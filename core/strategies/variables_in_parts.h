// SPDX-License-Identifier: Apache-2.0
// Which variables of a step can be cut into parts, and what stands for them. Internal to core.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace lanescope {

// VariableV2, VarHandleOp and their like.
bool IsVariableOp(const Node& node);
// An update that treats every element alike.
bool IsDenseUpdate(const std::string& op);
// One that is known by its cost alone, and stands before the assignment that graphs have for it: its inputs
// are the gradient, the variable and what the optimizer keeps of it.
bool IsFusedUpdate(const Node& node);
// Makes such a node that of one of so many equal parts of a variable of `elements`.
void ShareFusedUpdate(int64_t elements, int64_t parts, Node* node);
// Changes nothing, and treats every element of its inputs alike.
bool IsElementwise(const Node& node);
// Up to the first scope that is a number: "model/h/3" of "model/h/3/attn/w", "h.3" of "h.3.attn.w"; else the
// scope that the variable is in.
std::string BlockOf(std::string_view variable);

// Variables of float32, float16 or bfloat16 whose elements divide by `parts`, that are read whole and
// updated element by element; of an update that writes several of them, all or none. The graph must outlive
// it.
class VariablesInParts {
 public:
  // `once`: whether a node is of no replica.
  VariablesInParts(const Graph& graph, std::function<bool(NodeId)> once, size_t parts);

  bool IsVariable(NodeId id) const { return variables_.contains(id); }
  // Gives the value of such a variable.
  bool IsRead(NodeId id) const;
  // It is such a variable or the value of one, and waits for nothing.
  bool IsReadAnyTime(NodeId id) const;
  // The variable that an update writes first; none where that is not in parts.
  NodeId UpdatedBy(NodeId id) const;
  // Any of these.
  bool Has(NodeId id) const { return IsVariable(id) || IsRead(id) || UpdatedBy(id).exists(); }
  const std::string& NameOfVariable(NodeId id) const;
  // A node that lay beside a variable lies beside its part of that number; -1: beside none.
  void DropColocation(int part, Node* node) const;

 private:
  bool CanBeInParts(NodeId variable, const Fanout& fanout, size_t parts) const;
  // False: all of the update's variables are in parts, or none.
  bool LeavesOut(NodeId update);

  const Graph& graph_;
  const std::function<bool(NodeId)> once_;
  std::set<NodeId> variables_;
};

}  // namespace lanescope
