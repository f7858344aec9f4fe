// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_builder.h"

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/graph/validate.h"

namespace lanescope {
namespace {

// Matches a node's inputs with the arguments of its op, and sets the attributes that follow.
class InputMatcher {
 public:
  InputMatcher(const OpDef& def, std::vector<DataType> types, Node* node)
      : def_(def), types_(std::move(types)), node_(*node) {}

  void Run() {
    for (size_t arg = 0; arg < def_.inputs.size(); ++arg) Match(def_.inputs[arg], CountOf(arg));
    if (next_ != types_.size()) FailCount();
  }

 private:
  // Tensors that belong to argument `arg`: one, as many as an attribute says, or what the later arguments
  // leave.
  size_t CountOf(size_t arg) {
    const ArgDef& def = def_.inputs[arg];
    if (def.number_attr.empty() && def.type_list_attr.empty()) return 1;
    if (!def.number_attr.empty() && node_.FindAttr(def.number_attr) != nullptr) {
      const int64_t count = node_.IntAttr(def.number_attr);
      if (count < 0 || static_cast<uint64_t>(count) > types_.size()) FailCount();
      return static_cast<size_t>(count);
    }
    if (!def.type_list_attr.empty() && node_.FindAttr(def.type_list_attr) != nullptr) {
      return node_.TypeListAttr(def.type_list_attr).size();
    }
    const size_t later = def_.inputs.size() - arg - 1;
    if (types_.size() < next_ + later) FailCount();
    return types_.size() - next_ - later;
  }

  void Match(const ArgDef& arg, size_t count) {
    if (count > types_.size() - next_) FailCount();
    std::vector<DataType> types;
    for (size_t i = 0; i < count; ++i) types.push_back(RemoveRef(types_[next_++]));
    if (!arg.number_attr.empty()) node_.attrs.try_emplace(arg.number_attr, static_cast<int64_t>(count));
    if (!arg.type_list_attr.empty()) node_.attrs.try_emplace(arg.type_list_attr, types);
    if (arg.type_attr.empty()) return;
    for (DataType type : types) {
      node_.attrs.try_emplace(arg.type_attr, type);
      if (node_.TypeAttr(arg.type_attr) != type) FailType(arg, type);
    }
  }

  [[noreturn]] void FailCount() const {
    Throw(Code::kInvalidArgument, "node '{}' ({}) has {} inputs, which do not fit the op's {} arguments",
          node_.name, node_.op, types_.size(), def_.inputs.size());
  }
  [[noreturn]] void FailType(const ArgDef& arg, DataType type) const {
    Throw(Code::kInvalidArgument, "node '{}' ({}): argument '{}' is {}, but attribute '{}' is {}", node_.name,
          node_.op, arg.name, DataTypeName(type), arg.type_attr, DataTypeName(node_.TypeAttr(arg.type_attr)));
  }

  const OpDef& def_;
  const std::vector<DataType> types_;
  Node& node_;
  size_t next_ = 0;
};

std::vector<DataType> SourceTypes(const Graph& graph, const Node& node) {
  std::vector<DataType> types;
  for (const Endpoint& input : node.inputs) {
    const std::vector<DataType> outputs = OutputTypes(graph.node(input.node));
    if (input.output >= static_cast<int>(outputs.size())) {
      Throw(Code::kInvalidArgument, "node '{}' takes output {} of node '{}', which has {}", node.name,
            input.output, graph.node(input.node).name, outputs.size());
    }
    types.push_back(outputs[static_cast<size_t>(input.output)]);
  }
  return types;
}

void FillDefaults(const OpDef& def, Node* node) {
  for (const AttrDef& attr : def.attrs) {
    if (node->FindAttr(attr.name) != nullptr) continue;
    if (!attr.fallback.has_value()) {
      Throw(Code::kInvalidArgument, "node '{}' ({}) needs attribute '{}'", node->name, node->op, attr.name);
    }
    node->attrs.emplace(attr.name, *attr.fallback);
  }
}

}  // namespace

NodeBuilder::NodeBuilder(Graph* graph, std::string_view op, std::string_view name) : graph_(graph) {
  node_.op = op;
  node_.name = name;
}

NodeBuilder& NodeBuilder::Input(Endpoint input) {
  node_.inputs.push_back(input);
  return *this;
}

NodeBuilder& NodeBuilder::Inputs(std::span<const Endpoint> inputs) {
  node_.inputs.insert(node_.inputs.end(), inputs.begin(), inputs.end());
  return *this;
}

NodeBuilder& NodeBuilder::ControlInput(NodeId source) {
  node_.control_inputs.push_back(source);
  return *this;
}

NodeBuilder& NodeBuilder::Device(std::string_view device) {
  node_.device = device;
  return *this;
}

NodeBuilder& NodeBuilder::SetAttr(std::string_view name, AttrValue value) {
  node_.attrs.insert_or_assign(std::string(name), std::move(value));
  return *this;
}

Node NodeBuilder::Finish() {
  if (!IsValidNodeName(node_.name)) {
    Throw(Code::kInvalidArgument, "'{}' is not a legal node name", node_.name);
  }
  CheckSources();
  if (const OpDef* def = OpRegistry::Global().Find(node_.op)) {
    InputMatcher(*def, SourceTypes(*graph_, node_), &node_).Run();
    FillDefaults(*def, &node_);
    CheckAttrValues(node_, *def);
  }
  return node_;
}

Endpoint NodeBuilder::Build() { return {graph_->AddNode(Finish()), 0}; }

void NodeBuilder::CheckSources() const {
  const auto check = [&](NodeId source) {
    if (graph_->Contains(source)) return;
    Throw(Code::kInvalidArgument, "node '{}' has an input from node number {}, which is not in the graph",
          node_.name, source.number());
  };
  for (Endpoint input : node_.inputs) {
    check(input.node);
    if (input.output < 0) {
      Throw(Code::kInvalidArgument, "node '{}' takes control from '{}' as data; use ControlInput", node_.name,
            graph_->node(input.node).name);
    }
  }
  for (const NodeId source : node_.control_inputs) check(source);
}

Endpoint GraphBuilder::Const(std::string_view name, const Tensor& value, std::string_view device) {
  return Op("Const", name).Attr("dtype", value.dtype()).Attr("value", value).Device(device).Build();
}

Endpoint GraphBuilder::Placeholder(std::string_view name, DataType dtype, const Shape& shape) {
  return Op("Placeholder", name).Attr("dtype", dtype).Attr("shape", shape).Build();
}

}  // namespace lanescope
