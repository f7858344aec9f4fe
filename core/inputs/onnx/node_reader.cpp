// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/onnx/node_reader.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/inputs/onnx/control_flow.h"
#include "core/inputs/onnx/onnx_tensor.h"
#include "core/inputs/onnx/op_flops.h"
#include "core/inputs/onnx/small_elements.h"

namespace lanescope {
namespace {

// Rules look at this many without asking how many there are.
constexpr size_t kLeastInputs = 3;
constexpr int kDeepest = 32;
// The limit of nodes; those of functions and bodies count as often as they are used.
constexpr int64_t kMostExpanded = int64_t{1} << 18;
constexpr size_t kMostResolved = size_t{1} << 30;

bool IsOwnDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

template <typename Sets>
int64_t OpsetOf(const Sets& sets, int64_t fallback) {
  for (const onnx::OperatorSet& set : sets)
    if (IsOwnDomain(set.domain())) return set.version();
  return fallback;
}

std::string FunctionKey(const std::string& domain, const std::string& name, const std::string& overload) {
  return (IsOwnDomain(domain) ? "" : domain) + '\n' + name + '\n' + overload;
}

using Attributes = std::map<std::string, const onnx::AttributeProto*>;

bool RefersToCall(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
    return !attribute.ref_attr_name().empty() || std::ranges::any_of(attribute.g().node(), RefersToCall);
  });
}

// Attributes that stand for attributes of the call become those, or go.
void ResolveAttributes(const Attributes& given, onnx::NodeProto* node) {
  google::protobuf::RepeatedPtrField<onnx::AttributeProto> resolved;
  for (onnx::AttributeProto& attribute : *node->mutable_attribute()) {
    if (attribute.has_g())
      for (onnx::NodeProto& inner : *attribute.mutable_g()->mutable_node()) ResolveAttributes(given, &inner);
    if (attribute.ref_attr_name().empty()) {
      *resolved.Add() = std::move(attribute);
    } else if (const auto found = given.find(attribute.ref_attr_name()); found != given.end()) {
      onnx::AttributeProto* const copy = resolved.Add();
      *copy = *found->second;
      copy->set_name(attribute.name());
    }
  }
  *node->mutable_attribute() = std::move(resolved);
}

void AddReadNames(const onnx::GraphProto& graph, std::set<std::string>* names) {
  for (const onnx::NodeProto& node : graph.node()) {
    names->insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) AddReadNames(attribute.g(), names);
  }
  for (const onnx::ValueInfo& output : graph.output()) names->insert(output.name());
}

}  // namespace

OnnxNodeReader::OnnxNodeReader(const onnx::ModelProto& model, const std::string& folder,
                               const OnnxDimensions& sizes, OnnxEmitter* to)
    : graph_(model.graph()), folder_(folder), sizes_(sizes), to_(to) {
  whole_.opset = OpsetOf(model.opset_import(), 1);
  AddNames(graph_, &whole_);
  for (const onnx::FunctionProto& function : model.functions())
    functions_[FunctionKey(function.domain(), function.name(), function.overload())] = &function;
}

void OnnxNodeReader::AddNames(const onnx::GraphProto& graph, Scope* scope) {
  for (const auto* infos : {&graph.value_info(), &graph.output()})
    for (const onnx::ValueInfo& info : *infos) scope->types[info.name()] = &info.type().tensor_type();
  for (const onnx::TensorProto& tensor : graph.initializer()) scope->weights.emplace(tensor.name(), &tensor);
}

void OnnxNodeReader::ReadNodes() {
  for (const onnx::NodeProto& node : graph_.node()) AddNode(node);
}

template <typename Proto, typename Make>
OnnxValue OnnxNodeReader::Shared(const Proto& proto, const Make& make) {
  const auto found = shared_.find(&proto);
  return found != shared_.end() ? found->second : shared_[&proto] = make();
}

OnnxValue OnnxNodeReader::ValueOf(const std::string& name) {
  if (name.empty()) return {};
  for (Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (const auto found = scope->values.find(name); found != scope->values.end()) return found->second;
    const auto weight = scope->weights.find(name);
    if (weight == scope->weights.end()) continue;
    return scope->values[name] = Shared(*weight->second, [&] {
             OnnxValue value = to_->Constant(OnnxTensor(*weight->second, folder_), name);
             value.set_format(OnnxFormat(weight->second->data_type()));
             return value;
           });
  }
  Throw(Code::kInvalidArgument, "reads '{}', which nothing before it makes", name);
}

const onnx::TensorType* OnnxNodeReader::TypeOf(const std::string& name) const {
  const auto found = scope_->types.find(name);
  return found == scope_->types.end() ? nullptr : found->second;
}

template <typename Outputs>
OnnxValues OnnxNodeReader::ReadIn(Scope* scope, const std::vector<const onnx::NodeProto*>& nodes,
                                  const Outputs& outputs) {
  if (depth_ >= kDeepest)
    Throw(Code::kInvalidArgument, "lies in functions or bodies that are more than {} deep", kDeepest);
  expanded_ += static_cast<int64_t>(nodes.size());
  if (expanded_ > kMostExpanded)
    Throw(Code::kResourceExhausted, "makes more than {} nodes of functions and bodies", kMostExpanded);
  Scope* const around = std::exchange(scope_, scope);
  ++depth_;
  OnnxValues values;
  for (const onnx::NodeProto* node : nodes) AddNode(*node);
  for (const auto& output : outputs) {
    if constexpr (std::is_same_v<std::decay_t<decltype(output)>, onnx::ValueInfo>)
      values.push_back(ValueOf(output.name()));
    else
      values.push_back(ValueOf(output));
  }
  --depth_;
  scope_ = around;
  return values;
}

OnnxValues OnnxNodeReader::Body(const onnx::GraphProto& body, const OnnxValues& inputs,
                                const std::string& label) {
  if (body.input_size() != static_cast<int>(inputs.size()))
    Throw(Code::kInvalidArgument, "has a body of {} inputs, not {}", body.input_size(), inputs.size());
  Scope scope;
  scope.outer = scope_;
  scope.label = label;
  scope.opset = scope_->opset;
  AddNames(body, &scope);
  for (size_t i = 0; i < inputs.size(); ++i) scope.values[body.input(static_cast<int>(i)).name()] = inputs[i];
  std::vector<const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : body.node()) nodes.push_back(&node);
  return ReadIn(&scope, nodes, body.output());
}

OnnxValues OnnxNodeReader::Call(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                                const OnnxValues& inputs, const std::string& name) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    Throw(Code::kInvalidArgument, "calls a function of {} inputs and {} outputs", function.input_size(),
          function.output_size());
  Attributes given;
  for (const onnx::AttributeProto& attribute : function.attribute_proto())
    given[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& attribute : call.attribute()) given[attribute.name()] = &attribute;
  std::vector<const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : function.node()) {
    nodes.push_back(&node);
    if (!RefersToCall(node)) continue;
    resolved_bytes_ += node.ByteSizeLong();
    if (resolved_bytes_ > kMostResolved)
      Throw(Code::kResourceExhausted, "calls functions of more than {} MiB with attributes",
            kMostResolved >> 20);
    nodes.back() = &resolved_.emplace_back(node);
    ResolveAttributes(given, &resolved_.back());
  }
  Scope scope;
  scope.label = name;
  scope.opset = OpsetOf(function.opset_import(), scope_->opset);
  for (int i = 0; i < function.input_size(); ++i)
    scope.values[function.input(i)] = i < call.input_size() ? inputs[static_cast<size_t>(i)] : OnnxValue();
  return ReadIn(&scope, nodes, function.output());
}

void OnnxNodeReader::AddNode(const onnx::NodeProto& proto) {
  const std::string own = !proto.name().empty()     ? proto.name()
                          : proto.output_size() > 0 ? proto.output(0)
                                                    : proto.op_type();
  const std::string name = scope_->label.empty() ? own : scope_->label + "/" + own;
  try {
    to_->Name(name);
    OnnxValues inputs;
    for (const std::string& input : proto.input()) inputs.push_back(ValueOf(input));
    inputs.resize(std::max(inputs.size(), kLeastInputs));
    const OnnxValues outputs = ResultsOf(proto, inputs, name);
    for (int i = 0; i < proto.output_size(); ++i) {
      if (proto.output(i).empty()) continue;
      if (static_cast<size_t>(i) >= outputs.size())
        Throw(Code::kInvalidArgument, "has {} outputs, not {}", outputs.size(), proto.output_size());
      if (!scope_->values.emplace(proto.output(i), outputs[static_cast<size_t>(i)]).second)
        Throw(Code::kInvalidArgument, "makes '{}', which is there already", proto.output(i));
    }
  } catch (const Error& error) {
    if (std::exchange(failed_, true))
      Throw(error.code(), "{}, in the {} '{}'", error.message(), proto.op_type(), name);
    Throw(error.code(), "the {} '{}' {}", proto.op_type(), name, error.message());
  }
}

OnnxValues OnnxNodeReader::ResultsOf(const onnx::NodeProto& proto, const OnnxValues& inputs,
                                     const std::string& name) {
  const auto function = functions_.find(FunctionKey(proto.domain(), proto.op_type(), proto.overload()));
  if (function != functions_.end()) return Call(*function->second, proto, inputs, name);
  const OnnxNode node(proto, scope_->opset, folder_);
  const std::optional<double> before = to_->flops();
  if (IsOwnDomain(proto.domain()) && IsControlFlow(proto.op_type())) {
    std::optional<double> flops;
    const OnnxValues outputs = ControlFlow(*this, node, inputs, name, &flops);
    if (!outputs.empty()) return outputs;
    to_->set_flops(before);
    to_->Name(name);
    OnnxValues all = inputs;
    for (const OnnxValue& read : Captured(proto)) all.push_back(read);
    return ByCost(proto, all, flops);
  }
  const OnnxValues outputs = ByRule(proto, node, inputs);
  if (!outputs.empty()) return outputs;
  to_->set_flops(before);
  return ByCost(proto, inputs, OnnxFlops(node, inputs, DeclaredOutputs(proto, inputs)));
}

OnnxValues OnnxNodeReader::ByRule(const onnx::NodeProto& proto, const OnnxNode& node,
                                  const OnnxValues& inputs) {
  const auto rule = AllOnnxRules().find(OnnxRuleName(proto.domain(), proto.op_type()));
  if (rule == AllOnnxRules().end()) return {};
  const bool coded = std::ranges::any_of(inputs, [](const OnnxValue& input) { return input.format() != 0; });
  if (coded && !ReadsFormats(proto.op_type())) return {};
  const bool needs_none = proto.op_type() == "Constant" || proto.op_type() == "SequenceEmpty";
  if (!needs_none && !inputs[0].exists()) Throw(Code::kInvalidArgument, "lacks its first input");
  // Only in bodies and functions: those of the model are read once.
  if (needs_none && depth_ > 0) {
    const OnnxValue value = Shared(proto, [&] {
      const OnnxValues made = rule->second(*to_, node, inputs);
      return made.empty() ? OnnxValue() : made[0];
    });
    return value.exists() ? OnnxValues{value} : OnnxValues{};
  }
  return rule->second(*to_, node, inputs);
}

std::vector<TensorInfo> OnnxNodeReader::DeclaredOutputs(const onnx::NodeProto& proto,
                                                        const OnnxValues& inputs) const {
  std::vector<TensorInfo> outputs;
  for (const std::string& name : proto.output()) {
    TensorInfo info;
    info.dtype = inputs[0].exists() ? inputs[0].dtype() : DataType::kFloat;
    if (const onnx::TensorType* type = TypeOf(name); type != nullptr && type->elem_type() != 0) {
      info.dtype = OnnxDataType(type->elem_type());
      info.shape = sizes_.ShapeOf(*type);
      for (int i = 0; info.shape.known_rank() && i < info.shape.rank(); ++i)
        if (!IsExact(info.shape.dim(i))) info.shape = Shape::Unknown();
    }
    outputs.push_back(info);
  }
  return outputs;
}

OnnxValues OnnxNodeReader::ByCost(const onnx::NodeProto& proto, const OnnxValues& inputs,
                                  std::optional<double> flops) {
  std::string op = "Onnx";
  for (const char c : proto.op_type())
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) op += c;
  return to_->CostOnly(op, inputs, DeclaredOutputs(proto, inputs), flops);
}

OnnxValues OnnxNodeReader::Captured(const onnx::NodeProto& proto) {
  std::set<std::string> names;
  for (const onnx::AttributeProto& attribute : proto.attribute()) AddReadNames(attribute.g(), &names);
  OnnxValues values;
  for (const std::string& name : names) {
    bool known = false;
    for (const Scope* scope = scope_; scope != nullptr && !name.empty() && !known; scope = scope->outer)
      known = scope->values.contains(name) || scope->weights.contains(name);
    if (known) values.push_back(ValueOf(name));
  }
  return values;
}

}  // namespace lanescope
