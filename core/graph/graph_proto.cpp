// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_proto.h"

#include <charconv>

#include "core/base/error.h"
#include "core/graph/attr_proto.h"

namespace lanescope {
namespace {

// "name" or "name:output" of a data input, "^name" of a control input (output -1).
struct InputName {
  std::string_view node;
  int output = 0;
};

InputName ParseInput(std::string_view input, std::string_view user) {
  if (input.starts_with('^')) return {input.substr(1), -1};
  const size_t colon = input.rfind(':');
  if (colon == std::string_view::npos) return {input, 0};
  const std::string_view digits = input.substr(colon + 1);
  int output = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), output);
  if (error != std::errc() || end != digits.data() + digits.size() || output < 0) {
    Throw(Code::kInvalidArgument, "node '{}': input '{}' is not of the form NODE, NODE:NUMBER or ^NODE", user,
          input);
  }
  return {input.substr(0, colon), output};
}

void ResolveInputs(const tf::NodeDef& proto, Graph* graph, NodeId id) {
  Node& node = graph->node(id);
  node.inputs.reserve(static_cast<size_t>(proto.input_size()));
  for (const std::string& input : proto.input()) {
    const InputName parsed = ParseInput(input, node.name);
    const NodeId source = graph->FindNode(parsed.node);
    if (!source.exists()) {
      Throw(Code::kInvalidArgument, "node '{}' takes its input from '{}', which is not in the graph",
            node.name, parsed.node);
    }
    if (parsed.output < 0) {
      node.control_inputs.push_back(source);
    } else if (!node.control_inputs.empty()) {
      Throw(Code::kInvalidArgument,
            "node '{}': data input '{}' comes after a control input; list control inputs last", node.name,
            input);
    } else {
      node.inputs.push_back({source, parsed.output});
    }
  }
}

// The fields that no pass reads.
std::string ExtraOf(const tf::NodeDef& proto) {
  const google::protobuf::UnknownFieldSet& unknown = proto.GetReflection()->GetUnknownFields(proto);
  if (!proto.has_experimental_debug_info() && !proto.has_experimental_type() && unknown.empty()) return "";
  tf::NodeDef extra;
  if (proto.has_experimental_debug_info()) {
    *extra.mutable_experimental_debug_info() = proto.experimental_debug_info();
  }
  if (proto.has_experimental_type()) *extra.mutable_experimental_type() = proto.experimental_type();
  extra.GetReflection()->MutableUnknownFields(&extra)->MergeFrom(unknown);
  return SerializeInOrder(extra);
}

Node NodeFromProto(const tf::NodeDef& proto, ExpansionBudget* budget) {
  if (!IsValidNodeName(proto.name())) {
    Throw(Code::kInvalidArgument, "'{}' is not a legal node name", proto.name());
  }
  if (proto.op().empty()) Throw(Code::kInvalidArgument, "node '{}' has no op", proto.name());
  Node node;
  node.name = proto.name();
  node.op = proto.op();
  node.device = proto.device();
  node.extra = ExtraOf(proto);
  for (const auto& [name, value] : proto.attr()) {
    try {
      node.attrs.emplace(name, AttrFromProto(value, budget));
    } catch (const Error& error) {
      Throw(error.code(), "node '{}' ({}), attribute '{}': {}", node.name, node.op, name, error.message());
    }
  }
  return node;
}

void NodeToProto(const Graph& graph, const Node& node, tf::NodeDef* proto) {
  LANESCOPE_CHECK(proto->ParseFromString(node.extra));
  proto->set_name(node.name);
  proto->set_op(node.op);
  proto->set_device(node.device);
  for (Endpoint input : node.inputs) proto->add_input(graph.TensorName(input));
  for (const NodeId source : node.control_inputs) proto->add_input(graph.TensorName({source, -1}));
  for (const auto& [name, value] : node.attrs) AttrToProto(value, &(*proto->mutable_attr())[name]);
}

}  // namespace

Graph GraphFromProto(tf::GraphDef* proto) {
  Graph graph;
  ExpansionBudget budget;
  for (const tf::NodeDef& node : proto->node()) {
    if (graph.FindNode(node.name()).exists()) {
      Throw(Code::kInvalidArgument, "the graph has two nodes named '{}'", node.name());
    }
    graph.AddNode(NodeFromProto(node, &budget));
  }
  for (const NodeId id : graph.node_ids()) ResolveInputs(proto->node(id.number()), &graph, id);
  proto->clear_node();
  graph.extra = SerializeInOrder(*proto);
  return graph;
}

void GraphToProto(const Graph& graph, tf::GraphDef* proto) {
  LANESCOPE_CHECK(proto->ParseFromString(graph.extra));
  proto->mutable_node()->Reserve(graph.num_nodes());
  for (const Node& node : graph.nodes()) NodeToProto(graph, node, proto->add_node());
}

}  // namespace lanescope
