// SPDX-License-Identifier: Apache-2.0
// How a Scope adds nodes: names, constants for plain numbers, devices, colocation and control inputs.
#include <algorithm>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/infer_node.h"
#include "graphs/scope.h"

namespace lanescope::graphs {
namespace {

const DataType* TypeIn(const AttrMap& attrs, const std::string& attr) {
  const auto found = attrs.find(attr);
  return found == attrs.end() ? nullptr : std::get_if<DataType>(&found->second);
}

const DataType* DefaultType(const OpDef& def, const std::string& attr) {
  const AttrDef* declared = def.FindAttr(attr);
  return declared == nullptr || !declared->fallback ? nullptr : std::get_if<DataType>(&*declared->fallback);
}

// Element types by attribute, from the inputs that have one.
AttrMap KnownTypes(const OpDef& def, const std::vector<InputList>& arguments, const AttrMap& attrs,
                   const Scope& scope) {
  AttrMap types = attrs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (def.inputs[i].type_attr.empty()) continue;
    for (const Input& input : arguments[i].inputs()) {
      if (input.endpoint() != nullptr) {
        types.try_emplace(def.inputs[i].type_attr, scope.TypeOf(*input.endpoint()));
      } else if (input.typed()) {
        types.try_emplace(def.inputs[i].type_attr, input.value().dtype());
      }
    }
  }
  return types;
}

}  // namespace

std::vector<std::vector<Endpoint>> Scope::ToEndpoints(const OpDef& def, const std::string& full_name,
                                                      const std::vector<InputList>& arguments,
                                                      const AttrMap& attrs) {
  AttrMap types = KnownTypes(def, arguments, attrs, *this);
  std::vector<std::vector<Endpoint>> endpoints(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ArgDef& arg = def.inputs[i];
    const auto& inputs = arguments[i].inputs();
    const bool is_list = !arg.number_attr.empty() || !arg.type_list_attr.empty();
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k].endpoint() != nullptr) {
        endpoints[i].push_back(*inputs[k].endpoint());
        continue;
      }
      Tensor value = inputs[k].value();
      if (!inputs[k].typed()) {
        DataType type = arg.type;
        if (!arg.type_attr.empty()) {
          const DataType* known = TypeIn(types, arg.type_attr);
          if (known == nullptr) known = DefaultType(def, arg.type_attr);
          type = known == nullptr ? NaturalType(value) : *known;
          types.try_emplace(arg.type_attr, type);
        } else if (!arg.type_list_attr.empty()) {
          type = NaturalType(value);
        }
        value = NumbersAs(value, type);
      }
      const auto names = Name(full_name + "/");
      const std::string number = std::to_string(k);
      // A packed value is called by its place alone.
      endpoints[i].push_back(Constant(value, !is_list             ? arg.name
                                             : def.name == "Pack" ? number
                                                                  : arg.name + "_" + number));
    }
  }
  return endpoints;
}

Endpoint Scope::Add(std::string_view op, std::string_view name, std::vector<InputList> arguments,
                    std::vector<std::pair<std::string_view, AttrValue>> attrs) {
  CheckNesting();
  const OpDef* def = OpRegistry::Global().Find(op);
  if (def == nullptr) Throw(Code::kInvalidArgument, "op {} has no definition here", op);
  if (arguments.size() != def->inputs.size()) {
    Throw(Code::kInvalidArgument, "{} takes {} arguments, not {}", op, def->inputs.size(), arguments.size());
  }
  const std::string full_name = name.ends_with('/') ? std::string(name.substr(0, name.size() - 1))
                                                    : UniqueName(name.empty() ? op : name);
  AttrMap given;
  for (auto& [attr, value] : attrs) given.insert_or_assign(std::string(attr), std::move(value));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& count = def->inputs[i].number_attr;
    if (!count.empty()) given.try_emplace(count, static_cast<int64_t>(arguments[i].inputs().size()));
  }
  const auto inputs = ToEndpoints(*def, full_name, arguments, given);

  // A node that takes a reference lives where the variable does.
  State with_variables = state_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!def->inputs[i].is_ref) continue;
    with_variables.devices.clear();
    for (const Endpoint& input : inputs[i]) with_variables.colocation.push_back(input.node);
  }
  const auto colocation = Open("colocation", std::move(with_variables));
  NodeBuilder builder(&graph_, op, full_name);
  for (const auto& argument : inputs) builder.Inputs(argument);
  for (const auto& [attr, value] : given) builder.Attr(attr, value);
  return AddComplete(builder.Finish());
}

Endpoint Scope::AddComplete(Node node) {
  node.device = DeviceOf(node);
  Colocate(&node);
  node.control_inputs = ControlsFor(node);
  std::vector<TensorInfo> inputs;
  for (const Endpoint& input : node.inputs) inputs.push_back(Info(input));
  std::vector<TensorInfo> outputs = InferNode(node, inputs);
  const NodeId id = graph_.AddNode(std::move(node));
  for (const auto& controller : state_.controllers) controller->members.insert(id);
  infos_.Add(std::move(outputs));
  return {id, infos_.back().empty() ? -1 : 0};
}

Endpoint Scope::AddNode(Node node) {
  CheckNesting();
  NodeBuilder builder(&graph_, node.op, UniqueName(node.name.empty() ? node.op : node.name));
  builder.Inputs(node.inputs);
  for (const auto& [attr, value] : node.attrs) builder.Attr(attr, value);
  return AddComplete(builder.Finish());
}

void Scope::Replace(NodeId id, Node node) {
  LANESCOPE_CHECK(graph_.node(id).name == node.name);
  std::vector<TensorInfo> inputs;
  for (const Endpoint& input : node.inputs) inputs.push_back(Info(input));
  std::vector<TensorInfo> outputs = InferNode(node, inputs);
  LANESCOPE_CHECK(outputs.size() >= infos_[id].size());
  std::ranges::copy(infos_[id], outputs.begin());
  graph_.node(id) = std::move(node);
  infos_[id] = std::move(outputs);
}

AttrValue Scope::AddFunction(const FunctionBody& body, const std::string& name) {
  return lanescope::AddFunction(body, name, &graph_);
}

void Scope::AddFunctions(const Graph& from) { lanescope::AddFunctions(from, &graph_); }

Endpoint Scope::Constant(const Tensor& value, std::string_view name) {
  CheckNesting();
  NodeBuilder builder(&graph_, "Const", UniqueName(name));
  builder.Attr("dtype", value.dtype()).Attr("value", value);
  return AddComplete(builder.Finish());
}

}  // namespace lanescope::graphs
