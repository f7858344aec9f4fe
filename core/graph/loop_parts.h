// SPDX-License-Identifier: Apache-2.0
// The loops of TensorFlow 1 in a graph, taken apart. Internal to core/graph: brings in generated headers.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lanescope_graph.pb.h"

namespace lanescope {

// An input of a node: output `output` of another node, or -1 for its end alone.
struct LoopSource {
  std::string_view node;
  int output = 0;
};
LoopSource LoopSourceOf(std::string_view input);

// Unimplemented: the loop of this node cannot be raised.
[[noreturn]] void RefuseLoop(const tf::NodeDef& node, std::string_view why);

inline bool IsEnter(const tf::NodeDef& node) { return node.op() == "Enter"; }

// Nodes by name, and who takes what of them. The graph stays as it is meanwhile.
struct NodeIndex {
  explicit NodeIndex(const tf::GraphDef& graph);
  // Null: there is none.
  const tf::NodeDef* Find(std::string_view name) const;
  const std::vector<const tf::NodeDef*>& UsersOf(const tf::NodeDef& node) const;

  std::unordered_map<std::string_view, const tf::NodeDef*> nodes;
  std::unordered_map<std::string_view, std::vector<const tf::NodeDef*>> users;
};

using NodeSet = std::unordered_set<const tf::NodeDef*>;

// One loop of a graph. Throws Unimplemented, naming a node, for one that is put together in another way.
class LoopParts {
 public:
  // `enters`: of one frame.
  LoopParts(const NodeIndex& index, const std::vector<const tf::NodeDef*>& enters);

  // Whether a loop lies in this one.
  bool HasLoop(const std::vector<const tf::NodeDef*>& enters) const;

  // A variable of the loop, or a constant (without `next`).
  struct Variable {
    const tf::NodeDef* enter;
    const tf::NodeDef* merge = nullptr;
    const tf::NodeDef* next = nullptr;
    std::vector<const tf::NodeDef*> exits = {};
  };

  // Finds condition, variables and exits; throws for what does not fit together.
  void TakeApart();
  // The nodes that a tensor is made of, up to the loop's variables.
  NodeSet MadeOf(const std::vector<const tf::NodeDef*>& wanted) const;
  // The nodes of the body: what the next values are made of, and what depends on the condition.
  NodeSet BodyNodes() const;

  const std::vector<Variable>& variables() const { return variables_; }
  const tf::NodeDef& condition() const { return *condition_; }
  const NodeSet& inside() const { return inside_; }
  // The number of the variable that an output is the value of; -1: of none.
  int VariableAt(const LoopSource& source) const;
  // Whether the node is the loop's own, and no part of what it computes.
  bool IsPart(const tf::NodeDef& node) const;

 private:
  void NoteEnter(const tf::NodeDef& enter);
  void NoteSwitch(const tf::NodeDef& node);
  void NoteLastValue(const tf::NodeDef& user, Variable* variable);

  const NodeIndex& index_;
  NodeSet inside_;
  const tf::NodeDef* condition_ = nullptr;
  std::vector<Variable> variables_;
  NodeSet passed_;                                           // identities between a last value and its Exit
  std::unordered_map<const tf::NodeDef*, int> variable_of_;  // of its Merge and its Switches
};

}  // namespace lanescope
