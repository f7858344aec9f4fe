// SPDX-License-Identifier: Apache-2.0
#include "core/expand/function_body.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/expand/function_graphs.h"
#include "core/graph/graph_proto.h"
#include "core/graph/op.h"

namespace lanescope {
namespace {

// Groups name nodes.
void ShortenGroups(Node* node) {
  const auto found = node->attrs.find("_class");
  if (found == node->attrs.end()) return;
  auto* groups = std::get_if<std::vector<std::string>>(&found->second);
  if (groups == nullptr) return;
  constexpr std::string_view kGroup = "loc:@f/";
  for (std::string& group : *groups) {
    if (group.starts_with(kGroup)) group = "loc:@" + group.substr(kGroup.size());
  }
}

size_t CountOf(const Node& node, const ArgDef& arg) {
  if (!arg.number_attr.empty())
    return static_cast<size_t>(std::max<int64_t>(0, node.IntAttr(arg.number_attr)));
  if (!arg.type_list_attr.empty()) return node.TypeListAttr(arg.type_list_attr).size();
  return 1;
}

// "NODE:ARGUMENT:NUMBER", as functions name the outputs of their nodes.
std::string OutputName(const Graph& graph, Endpoint endpoint) {
  const Node& node = graph.node(endpoint.node);
  const OpDef* def = OpRegistry::Global().SignatureOf(node);
  auto number = static_cast<size_t>(endpoint.output);
  for (const ArgDef& arg : def == nullptr ? std::vector<ArgDef>() : def->outputs) {
    const size_t count = CountOf(node, arg);
    if (number < count) return node.name + ":" + arg.name + ":" + std::to_string(number);
    number -= count;
  }
  Throw(Code::kUnimplemented, "node '{}' ({}): what its output {} is called in a function is not known",
        node.name, node.op, endpoint.output);
}

bool IsStateful(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def == nullptr) {
    return node.op == "If" || node.op == "Case" || node.op == "While" || node.op == "StatefulPartitionedCall";
  }
  return (def->stateful || def->role != StateRole::kNone) && !node.op.starts_with("Placeholder");
}

// Writes one body as a function.
class FunctionWriter {
 public:
  FunctionWriter(const FunctionBody& body, tf::FunctionDef* function) : body_(body), function_(*function) {
    for (size_t i = 0; i < body.arguments.size(); ++i) {
      arguments_[body.arguments[i].index()] = FreeName("arg_" + std::to_string(i));
    }
  }

  void Write(const std::string& name) {
    tf::OpDef& signature = *function_.mutable_signature();
    signature.set_name(name);
    for (const NodeId id : body_.arguments) {
      tf::OpDef::ArgDef* arg = signature.add_input_arg();
      arg->set_name(arguments_.at(id.index()));
      arg->set_type(static_cast<tf::DataType>(body_.graph.node(id).TypeAttr("dtype")));
    }
    WriteNodes();
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      const Endpoint output = body_.outputs[i];
      tf::OpDef::ArgDef* arg = signature.add_output_arg();
      arg->set_name("out_" + std::to_string(i));
      const std::vector<DataType> types = OutputTypes(body_.graph.node(output.node));
      arg->set_type(static_cast<tf::DataType>(RemoveRef(types.at(static_cast<size_t>(output.output)))));
      (*function_.mutable_ret())[arg->name()] = SourceOf(output);
    }
    for (const NodeId effect : body_.effects) {
      const std::string& node = body_.graph.node(effect).name;
      if (arguments_.contains(effect.index())) continue;
      signature.add_control_output(node);
      (*function_.mutable_control_ret())[node] = node;
    }
  }

 private:
  std::string FreeName(std::string name) const {
    while (body_.graph.FindNode(name).exists()) name += "_";
    return name;
  }

  std::string SourceOf(Endpoint endpoint) const {
    const auto argument = arguments_.find(endpoint.node.index());
    return argument != arguments_.end() ? argument->second : OutputName(body_.graph, endpoint);
  }

  void WriteNodes() {
    tf::GraphDef nodes;
    GraphToProto(body_.graph, &nodes);
    for (const NodeId id : body_.graph.node_ids()) {
      if (arguments_.contains(id.index())) continue;
      const Node& node = body_.graph.node(id);
      tf::NodeDef* written = function_.add_node_def();
      written->Swap(nodes.mutable_node(static_cast<int>(id.index())));
      written->clear_input();
      for (const Endpoint input : node.inputs) written->add_input(SourceOf(input));
      for (const NodeId control : node.control_inputs) {
        if (!arguments_.contains(control.index())) written->add_input("^" + body_.graph.node(control).name);
      }
      if (IsStateful(node)) function_.mutable_signature()->set_is_stateful(true);
    }
  }

  const FunctionBody& body_;
  tf::FunctionDef& function_;
  std::map<size_t, std::string> arguments_;  // by node
};

std::set<std::string> NamesOf(const tf::FunctionDefLibrary& library) {
  std::set<std::string> names;
  for (const tf::FunctionDef& function : library.function()) names.insert(function.signature().name());
  return names;
}

}  // namespace

std::string FunctionNameOf(const Node& node, const std::string& attr) {
  const AttrValue* value = node.FindAttr(attr);
  const RawAttr* raw = value == nullptr ? nullptr : std::get_if<RawAttr>(value);
  tf::AttrValue called;
  return raw != nullptr && called.ParseFromString(raw->proto) ? called.func().name() : "";
}

std::vector<AttrValue> FunctionsIn(const Node& node, const std::string& attr) {
  const AttrValue* value = node.FindAttr(attr);
  const RawAttr* raw = value == nullptr ? nullptr : std::get_if<RawAttr>(value);
  tf::AttrValue list;
  std::vector<AttrValue> functions;
  if (raw == nullptr || !list.ParseFromString(raw->proto)) return functions;
  for (const tf::NameAttrList& function : list.list().func()) {
    tf::AttrValue one;
    *one.mutable_func() = function;
    functions.emplace_back(RawAttr{one.SerializeAsString()});
  }
  return functions;
}

AttrValue FunctionList(const std::vector<AttrValue>& functions) {
  tf::AttrValue list;
  for (const AttrValue& function : functions) {
    tf::AttrValue one;
    const RawAttr* raw = std::get_if<RawAttr>(&function);
    LANESCOPE_CHECK(raw != nullptr && one.ParseFromString(raw->proto));
    *list.mutable_list()->add_func() = one.func();
  }
  return RawAttr{list.SerializeAsString()};
}

FunctionBody ReadFunction(const Graph& graph, const Node& node, const std::string& attr) {
  FunctionGraphs functions(graph.extra);
  const GraphBody& made = functions.Of(node, attr);
  FunctionBody body{
      .graph = {}, .arguments = made.arguments, .outputs = made.outputs, .effects = made.effects};
  body.graph.extra = graph.extra;
  std::set<std::string> inner;
  for (const NodeId id : made.graph.node_ids()) {
    const std::string& name = made.graph.node(id).name;
    if (name.starts_with(kFunctionPrefix)) inner.insert(name.substr(kFunctionPrefix.size()));
  }
  // The node that is nobody's is the last one.
  LANESCOPE_CHECK(made.last.index() + 1 == made.graph.num_nodes());
  for (const NodeId id : made.graph.node_ids()) {
    if (id == made.last) continue;
    Node copy = made.graph.node(id);
    if (copy.name.starts_with(kFunctionPrefix)) {
      copy.name = copy.name.substr(kFunctionPrefix.size());
    } else {
      while (inner.contains(copy.name)) copy.name += "_";
    }
    ShortenGroups(&copy);
    body.graph.AddNode(std::move(copy));
  }
  return body;
}

AttrValue AddFunction(const FunctionBody& body, const std::string& name, Graph* graph) {
  AddFunctions(body.graph, graph);
  tf::GraphDef whole;
  LANESCOPE_CHECK(whole.ParseFromString(graph->extra));
  const std::set<std::string> names = NamesOf(whole.library());
  std::string free = name;
  for (int i = 1; names.contains(free); ++i) free = name + "_" + std::to_string(i);
  FunctionWriter(body, whole.mutable_library()->add_function()).Write(free);
  graph->extra = whole.SerializeAsString();
  tf::AttrValue attr;
  attr.mutable_func()->set_name(free);
  return RawAttr{attr.SerializeAsString()};
}

void AddFunctions(const Graph& from, Graph* graph) {
  if (from.extra == graph->extra) return;
  tf::GraphDef whole, more;
  LANESCOPE_CHECK(whole.ParseFromString(graph->extra));
  LANESCOPE_CHECK(more.ParseFromString(from.extra));
  std::set<std::string> names = NamesOf(whole.library());
  for (tf::FunctionDef& function : *more.mutable_library()->mutable_function()) {
    if (names.insert(function.signature().name()).second)
      whole.mutable_library()->add_function()->Swap(&function);
  }
  graph->extra = whole.SerializeAsString();
}

}  // namespace lanescope
