// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/replica_totals.h"

namespace lanescope {
namespace {

// Whether it is one part of so many, as a number.
bool IsShare(const Graph& graph, NodeId id, size_t parts) {
  if (graph.node(id).op == "Cast") id = graph.node(id).inputs[0].node;
  const Node& number = graph.node(id);
  if (number.op != "Const") return false;
  const Tensor& value = number.GetTensorAttr("value");
  const double share = 1 / static_cast<double>(parts);
  if (value.dtype() == DataType::kDouble) return value.data<double>()[0] == share;
  return value.dtype() == DataType::kFloat && value.data<float>()[0] == static_cast<float>(share);
}

bool IsSum(const Graph& graph, NodeId id, size_t replicas) {
  return graph.node(id).op == "AddN" && graph.node(id).inputs.size() == replicas;
}

}  // namespace

std::optional<ReplicaTotal> TotalOfReplicas(const Graph& graph, NodeId id, size_t replicas) {
  if (IsSum(graph, id, replicas)) return ReplicaTotal{Total::kSum, id};
  const Node& node = graph.node(id);
  if (node.op != "Mul" || !IsSum(graph, node.inputs[0].node, replicas)) return std::nullopt;
  if (!IsShare(graph, node.inputs[1].node, replicas)) return std::nullopt;
  return ReplicaTotal{Total::kMean, node.inputs[0].node};
}

}  // namespace lanescope
