// SPDX-License-Identifier: Apache-2.0
// The operator graph: what a GraphDef file says, with inputs resolved to node numbers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/base/id.h"
#include "core/base/rows.h"
#include "core/graph/attr.h"

namespace lanescope {

struct Node;
using NodeId = Id<Node>;

// One output of one node.
struct Endpoint {
  NodeId node;
  int output = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct Node {
  std::string name;
  std::string op;
  std::string device;  // as requested in the file; may be empty or partial
  AttrMap attrs;
  std::vector<Endpoint> inputs;
  std::vector<NodeId> control_inputs;
  std::string
      extra;  // serialized fields of NodeDef that no pass reads (debug info, full type, unknown fields)

  const AttrValue* FindAttr(std::string_view attr) const;
  // Typed access; throws InvalidArgument naming node and attribute when it is missing or of another type.
  const std::string& StringAttr(std::string_view attr) const;
  int64_t IntAttr(std::string_view attr) const;
  float FloatAttr(std::string_view attr) const;
  bool BoolAttr(std::string_view attr) const;
  DataType TypeAttr(std::string_view attr) const;
  const Shape& GetShapeAttr(std::string_view attr) const;
  const Tensor& GetTensorAttr(std::string_view attr) const;
  const std::vector<int64_t>& IntListAttr(std::string_view attr) const;
  const std::vector<std::string>& StringListAttr(std::string_view attr) const;
  const std::vector<DataType>& TypeListAttr(std::string_view attr) const;
  // As above, with a default for a missing attribute.
  int64_t IntAttr(std::string_view attr, int64_t fallback) const;
  float FloatAttr(std::string_view attr, float fallback) const;
  bool BoolAttr(std::string_view attr, bool fallback) const;
  std::string StringAttr(std::string_view attr, std::string_view fallback) const;
  DataType TypeAttr(std::string_view attr, DataType fallback) const;
};

// By TensorFlow's rule: a letter, digit, '.' or '_' and then letters, digits and any of "_.\\/>-".
bool IsValidNodeName(std::string_view name);

// Owns its nodes; node ids are 0..num_nodes()-1, in file order and never change. Thread-compatible: const use
// from any thread.
class Graph {
 public:
  // Throws AlreadyExists for a used name. Inputs must refer to nodes that exist or will be added before use
  // (checked by Validate).
  NodeId AddNode(Node node);

  size_t num_nodes() const { return nodes_.size(); }
  IdRange<NodeId> node_ids() const { return nodes_.ids(); }
  // Whether the graph has a node of that id: ids in a graph that nobody checked may be of no node.
  bool Contains(NodeId id) const { return nodes_.Contains(id); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  Node& node(NodeId id) { return nodes_[id]; }
  std::span<const Node> nodes() const { return nodes_; }
  // None when there is none.
  NodeId FindNode(std::string_view name) const;
  // "name", "name:1" or "^name" (output -1) to an endpoint; throws NotFound with the closest existing name.
  Endpoint FindEndpoint(std::string_view tensor) const;
  // "name" for output 0, "name:k" otherwise.
  std::string TensorName(Endpoint endpoint) const;

  // Node ids such that inputs come before users, smallest id first among the ready ones. Throws
  // InvalidArgument naming the nodes of one cycle.
  std::vector<NodeId> TopologicalOrder() const;

  // Serialized fields of GraphDef other than its nodes (versions, function library, debug info, unknown
  // fields).
  std::string extra;
  // Faults of nodes, by id (core/graph/validate.h). Compiling a step that needs such a node throws
  // it; for everything else the node is of an op of which nothing is known.
  std::map<NodeId, Error> problems;

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  IdVector<NodeId, Node> nodes_;
  std::unordered_map<std::string, NodeId, NameHash, std::equal_to<>> by_name_;
};

struct NodeUse {
  NodeId node;  // that uses it
  int input;    // which input of `node`; -1: control
  int output;   // which output of the source; -1: control
};
// Users of every node: data edges and control edges together.
using Fanout = Rows<NodeUse, NodeId>;
Fanout ComputeFanout(const Graph& graph);

}  // namespace lanescope
