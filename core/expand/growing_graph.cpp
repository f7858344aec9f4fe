// SPDX-License-Identifier: Apache-2.0
#include "core/expand/growing_graph.h"

#include "core/base/error.h"
#include "core/graph/infer_node.h"
#include "core/graph/validate.h"

namespace lanescope {
namespace {

constexpr int kMostNodes = 1 << 19;

}  // namespace

GrowingGraph::GrowingGraph(const Graph& before) {
  for (const Node& node : before.nodes()) kept_.insert(node.name);
}

NodeId GrowingGraph::Add(Node node, const std::vector<DataType>* types) {
  if (graph_.num_nodes() >= kMostNodes) {
    Throw(Code::kInvalidArgument, "the graph has more than {} nodes once its loops are unrolled", kMostNodes);
  }
  std::vector<TensorInfo> infos;
  if (types != nullptr) {
    for (const DataType type : *types) infos.emplace_back().dtype = RemoveRef(type);
  } else {
    std::vector<TensorInfo> inputs;
    for (const Endpoint& input : node.inputs) inputs.push_back(info(input));
    infos = InferNode(node, inputs);
  }
  const NodeId id = graph_.AddNode(std::move(node));
  infos_.Add(std::move(infos));
  return id;
}

void GrowingGraph::Release(const std::string& name) { kept_.erase(name); }

std::string GrowingGraph::FreeName(const std::string& wished) const {
  std::string name = wished;
  for (int i = 1; kept_.contains(name) || graph_.FindNode(name).exists(); ++i) {
    name = wished + "_" + std::to_string(i);
  }
  return name;
}

NodeBuilder GrowingGraph::New(std::string_view op, const std::string& wished, const std::string& device) {
  return NodeBuilder(&graph_, op, FreeName(wished)).Device(device);
}

Endpoint GrowingGraph::Constant(const std::string& wished, const Tensor& value, const std::string& device) {
  return Add(New("Const", wished, device).Attr("value", value).Attr("dtype", value.dtype()));
}

void GrowingGraph::SetShape(Endpoint endpoint, const Shape& shape) {
  infos_[endpoint.node][static_cast<size_t>(endpoint.output)].shape = shape;
}

std::optional<int64_t> GrowingGraph::ConstantAt(Endpoint endpoint) const {
  const TensorInfo& known = info(endpoint);
  if (known.value == nullptr || known.value->NumElements() != 1) return std::nullopt;
  switch (known.value->dtype()) {
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kBool:
    case DataType::kUint8:
      return known.value->IntAt(0);
    default:
      return std::nullopt;
  }
}

Graph GrowingGraph::Take(const Graph& before) {
  graph_.extra = before.extra;
  NoteProblems(&graph_);
  return std::move(graph_);
}

}  // namespace lanescope
