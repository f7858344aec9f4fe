// SPDX-License-Identifier: Apache-2.0
#include "core/expand/function_graphs.h"

#include "core/base/error.h"
#include "core/expand/function_calls.h"
#include "core/graph/graph_proto.h"
#include "core/graph/validate.h"

namespace lanescope {

struct FunctionGraphs::Library {
  tf::FunctionDefLibrary functions;
};

GraphBody::GraphBody(Graph body)
    : graph(std::move(body)), types(CollectOutputTypes(graph)), order(graph.TopologicalOrder()) {}

FunctionGraphs::FunctionGraphs(const std::string& extra) : library_(std::make_unique<Library>()) {
  tf::GraphDef graph;
  LANESCOPE_CHECK(graph.ParseFromString(extra));
  library_->functions = std::move(*graph.mutable_library());
}

FunctionGraphs::~FunctionGraphs() = default;

// A function that an attribute names, with its attributes.
struct FunctionGraphs::Call {
  tf::AttrValue attr;
};

const GraphBody& FunctionGraphs::Of(const Node& node, const std::string& attr) {
  const AttrValue* value = node.FindAttr(attr);
  const RawAttr* raw = value == nullptr ? nullptr : std::get_if<RawAttr>(value);
  Call call;
  if (raw == nullptr || !call.attr.ParseFromString(raw->proto) || !call.attr.has_func()) {
    Throw(Code::kInvalidArgument, "node '{}' ({}) has no function in its attribute '{}'", node.name, node.op,
          attr);
  }
  return Made(node, call);
}

std::vector<const GraphBody*> FunctionGraphs::ListOf(const Node& node, const std::string& attr) {
  const AttrValue* value = node.FindAttr(attr);
  const RawAttr* raw = value == nullptr ? nullptr : std::get_if<RawAttr>(value);
  tf::AttrValue list;
  if (raw == nullptr || !list.ParseFromString(raw->proto) || list.list().func().empty()) {
    Throw(Code::kInvalidArgument, "node '{}' ({}) has no functions in its attribute '{}'", node.name, node.op,
          attr);
  }
  std::vector<const GraphBody*> bodies;
  for (const tf::NameAttrList& function : list.list().func()) {
    Call call;
    *call.attr.mutable_func() = function;
    bodies.push_back(&Made(node, call));
  }
  return bodies;
}

const GraphBody& FunctionGraphs::Made(const Node& node, const Call& given) {
  const tf::AttrValue& called = given.attr;
  std::unique_ptr<GraphBody>& made = made_[called.SerializeAsString() + '\n' + node.device];
  if (made != nullptr) return *made;
  const tf::FunctionDef* function = nullptr;
  for (const tf::FunctionDef& candidate : library_->functions.function()) {
    if (candidate.signature().name() == called.func().name()) function = &candidate;
  }
  if (function == nullptr) {
    Throw(Code::kInvalidArgument, "node '{}' calls function '{}', which is not in the graph's library",
          node.name, called.func().name());
  }
  // A graph that calls it once.
  tf::GraphDef caller, body;
  tf::NodeDef call;
  call.set_name("f");
  call.set_op("StatefulPartitionedCall");
  call.set_device(node.device);
  (*call.mutable_attr())["f"] = called;
  for (const tf::OpDef::ArgDef& arg : function->signature().input_arg()) {
    tf::NodeDef* argument = caller.add_node();
    argument->set_name("argument_" + std::to_string(caller.node_size()));
    argument->set_op("Placeholder");
    const auto bound = called.func().attr().find(arg.type_attr());
    (*argument->mutable_attr())["dtype"].set_type(bound == called.func().attr().end() ? arg.type()
                                                                                      : bound->second.type());
    (*argument->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
    call.add_input(argument->name());
  }
  *caller.add_node() = std::move(call);
  LANESCOPE_CHECK(InlineCalls(library_->functions, caller, &body));
  Graph graph = GraphFromProto(&body);
  NoteProblems(&graph);
  made = std::make_unique<GraphBody>(std::move(graph));
  for (int i = 0; i < function->signature().input_arg_size(); ++i) made->arguments.emplace_back(i);
  made->last = made->graph.FindNode("f");
  const Node& last = made->graph.node(made->last);
  made->outputs = last.inputs;
  made->effects = last.control_inputs;
  return *made;
}

}  // namespace lanescope
