// SPDX-License-Identifier: Apache-2.0
// Runs a graph node by node, the plain way: no schedule, no reuse of memory, one thread, every tensor its
// own. What the executor computes must be the same.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/graph/tensor.h"
#include "exec/device/kernel.h"
#include "exec/resources/resource_manager.h"

namespace lanescope::exec::test {

// One session: variables, tables and random streams live as long as the object. The graph must outlive it.
// Not thread-safe.
class ReferenceInterpreter {
 public:
  explicit ReferenceInterpreter(const Graph& graph) : graph_(graph) {}

  // Feeds, fetches and targets by tensor or node name. Every node that they need runs once; an update of a
  // variable waits for the readers that do not depend on it. Throws what kernels and shape inference throw.
  std::vector<Tensor> Run(const std::map<std::string, Tensor>& feeds, const std::vector<std::string>& fetches,
                          const std::vector<std::string>& targets = {});

 private:
  friend class InterpreterContext;

  // An output of a node in the current run: a value, or a reference to the variable or table of a node.
  struct Slot {
    Tensor value;
    NodeId state_node;
  };

  struct VariableMemory {
    Tensor tensor;
    Variable variable;
  };

  IdVector<NodeId, bool> NeededNodes(const std::vector<Endpoint>& roots) const;
  struct Accesses;
  using Edges = IdVector<NodeId, std::set<NodeId>>;  // by node: the nodes that have to run first
  Accesses FindAccesses(const IdVector<NodeId, bool>& needed) const;
  static std::vector<NodeId> SmallestFirst(const IdVector<NodeId, bool>& needed, const Edges& before);
  std::vector<NodeId> OrderOf(const IdVector<NodeId, bool>& needed) const;
  void RunNode(NodeId id);
  std::vector<TensorInfo> InputInfos(const Node& node);
  std::vector<TensorInfo> InferOutputs(const Node& node, const std::vector<TensorInfo>& inputs) const;
  Slot& SlotOf(Endpoint endpoint) { return slots_.at({endpoint.node, endpoint.output}); }
  bool Fed(Endpoint endpoint) const { return fed_.contains({endpoint.node, endpoint.output}); }
  // Input 0 of an op that only gives it another shape: the same memory.
  Tensor SharedInput(const Node& node, const Shape& shape);
  // The variable that `slot` refers to; null if it is a value or a table.
  Variable* VariableOf(const Slot& slot);
  void MakeRoom(NodeId variable_node, const Tensor& value);
  Tensor Fetch(Endpoint endpoint);

  const Graph& graph_;
  std::map<NodeId, VariableMemory> variables_;
  ResourceManager shared_;  // outlives the handles
  std::map<NodeId, std::unique_ptr<Resource>> resources_;
  std::map<NodeId, uint64_t> random_counters_;

  std::map<std::pair<NodeId, int>, Slot> slots_;
  std::map<std::pair<NodeId, int>, bool> fed_;
};

}  // namespace lanescope::exec::test
