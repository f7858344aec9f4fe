// SPDX-License-Identifier: Apache-2.0
#include "core/graph/validate.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/graph/output_types.h"

namespace lanescope {
namespace {

// Nothing that a graph may declare is larger: 2^40 bytes of one variable.
constexpr int64_t kMaxVariableBytes = int64_t{1} << 40;

// Ops of TensorFlow 1's loops. Other control flow, and calls of functions, are ops without a
// definition like others.
constexpr std::array kLoops = {"Enter",         "RefEnter",        "Exit", "RefExit", "LoopCond",
                               "NextIteration", "RefNextIteration"};

template <typename Values, typename Value>
bool Contains(const Values& values, const Value& value) {
  return std::ranges::find(values, value) != values.end();
}

// Loops are refused before anything else is checked: they are cycles, too.
void CheckNoLoops(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (!Contains(kLoops, node.op)) continue;
    Throw(Code::kUnimplemented,
          "node '{}': {} is part of a loop, which is not supported; export the graph without it", node.name,
          node.op);
  }
}

// Names of the kinds by the order of AttrValue's alternatives, as AttrDef::type spells them.
constexpr std::array<std::string_view, 14> kAttrTypes = {
    "string",       "int",       "float",       "bool",       "type",       "shape",       "tensor",
    "list(string)", "list(int)", "list(float)", "list(bool)", "list(type)", "list(shape)", "func"};
static_assert(kAttrTypes.size() == std::variant_size_v<AttrValue>);

bool IsEmptyIntList(const AttrValue& value) {
  const auto* list = std::get_if<std::vector<int64_t>>(&value);
  return list != nullptr && list->empty();
}

// A file does not say of what an empty list is.
bool HasKind(const AttrValue& value, const AttrDef& def) {
  return def.type == kAttrTypes[value.index()] || (IsEmptyIntList(value) && def.type.starts_with("list("));
}

[[noreturn]] void ThrowValue(const Node& node, const AttrDef& def, std::string_view value,
                             std::string_view wanted) {
  Throw(Code::kInvalidArgument, "node '{}': attribute '{}' of {} is {}, expected {}", node.name, def.name,
        node.op, value, wanted);
}

template <typename T, typename Name>
std::string JoinNames(const std::vector<T>& values, Name name) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + name(value);
  return text;
}

void CheckType(const Node& node, const AttrDef& def, DataType type) {
  if (def.allowed_types.empty() ? type != DataType::kInvalid && !IsRefType(type)
                                : Contains(def.allowed_types, type)) {
    return;
  }
  ThrowValue(node, def, DataTypeName(type),
             def.allowed_types.empty() ? "a dtype" : "one of " + JoinNames(def.allowed_types, DataTypeName));
}

void CheckString(const Node& node, const AttrDef& def, const std::string& text) {
  if (def.allowed_strings.empty()) return;
  for (const std::string& allowed : def.allowed_strings) {
    if (allowed == text) return;
  }
  ThrowValue(node, def, fmt::format("'{:.40}'", text),
             "one of " + JoinNames(def.allowed_strings, [](const std::string& s) { return s; }));
}

void CheckShape(const Node& node, const AttrDef& def, const Shape& shape) {
  int64_t elements = 0;
  try {
    elements = shape.NumElements();
  } catch (const Error&) {
    elements = std::numeric_limits<int64_t>::max();
  }
  const DataType dtype = node.TypeAttr("dtype", DataType::kFloat);
  const auto size = static_cast<int64_t>(std::max<size_t>(ElementSize(RemoveRef(dtype)), 1));
  if (elements > kMaxVariableBytes / size)
    ThrowValue(node, def, shape.ToString(), "a shape of at most 2^40 bytes");
}

void CheckMinimum(const Node& node, const AttrDef& def, int64_t value) {
  if (def.minimum && value < *def.minimum) {
    const bool is_list = def.type.starts_with("list(");
    ThrowValue(node, def, fmt::format("{}{}", value, is_list ? " elements" : ""),
               fmt::format("at least {}", *def.minimum));
  }
}

void CheckAttrValue(const Node& node, const AttrDef& def, const AttrValue& value) {
  if (!HasKind(value, def)) {
    ThrowValue(node, def, fmt::format("a value of kind {}", kAttrTypes[value.index()]), def.type);
  }
  if (const auto* type = std::get_if<DataType>(&value)) return CheckType(node, def, *type);
  if (const auto* text = std::get_if<std::string>(&value)) return CheckString(node, def, *text);
  if (const auto* number = std::get_if<int64_t>(&value)) return CheckMinimum(node, def, *number);
  if (const auto* shape = std::get_if<ShapeAttr>(&value)) return CheckShape(node, def, shape->shape);
  if (!def.type.starts_with("list(")) return;
  std::visit(
      [&](const auto& list) {
        if constexpr (requires { list.size(); }) CheckMinimum(node, def, static_cast<int64_t>(list.size()));
      },
      value);
  if (const auto* types = std::get_if<std::vector<DataType>>(&value)) {
    for (const DataType type : *types) CheckType(node, def, type);
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& text : *texts) CheckString(node, def, text);
  }
  if (const auto* shapes = std::get_if<std::vector<ShapeAttr>>(&value)) {
    for (const ShapeAttr& shape : *shapes) CheckShape(node, def, shape.shape);
  }
}

void CheckAttrs(const Node& node, const OpDef& def) {
  CheckAttrValues(node, def);
  for (const AttrDef& attr : def.attrs) {
    if (node.FindAttr(attr.name) != nullptr || attr.fallback) continue;
    Throw(Code::kInvalidArgument, "node '{}': {} lacks attribute '{}' ({})", node.name, node.op, attr.name,
          attr.type);
  }
}

void CheckSourcesExist(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId source = node.inputs[i].node;
      if (graph.Contains(source)) continue;
      Throw(Code::kInvalidArgument,
            "node '{}': input {} comes from node number {}, which is not in the graph", node.name, i,
            source.number());
    }
    for (const NodeId source : node.control_inputs) {
      if (graph.Contains(source)) continue;
      Throw(Code::kInvalidArgument, "node '{}' waits for node number {}, which is not in the graph",
            node.name, source.number());
    }
  }
}

void CheckSource(const Graph& graph, const GraphOutputTypes& outputs, const Node& node, size_t input) {
  const Endpoint source = node.inputs[input];
  if (source.output >= 0 && source.output < outputs.Count(source.node)) return;
  const Node& producer = graph.node(source.node);
  Throw(Code::kInvalidArgument, "node '{}': input {} is '{}:{}', but {} '{}' has {} outputs", node.name,
        input, producer.name, source.output, producer.op, producer.name, outputs.Count(source.node));
}

// A reference may be read as a value; a value is no reference.
bool Accepts(DataType expected, DataType given) {
  return expected == given || (!IsRefType(expected) && expected == RemoveRef(given));
}

void CheckInputs(const Graph& graph, const GraphOutputTypes& outputs, const Node& node, const OpDef* def) {
  if (def == nullptr) return;
  const std::vector<DataType> expected = InputTypes(node);
  if (expected.size() != node.inputs.size()) {
    Throw(Code::kInvalidArgument, "node '{}': {} takes {} inputs, not {}", node.name, node.op,
          expected.size(), node.inputs.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const NodeId source = node.inputs[i].node;
    const DataType given = outputs.Of(node.inputs[i]);
    // The outputs of an unknown op are a guess.
    const bool guessed =
        graph.problems.contains(source) || OpRegistry::Global().SignatureOf(graph.node(source)) == nullptr;
    if (!guessed && !Accepts(expected[i], given)) {
      Throw(Code::kInvalidArgument, "node '{}': {} input {} has dtype {}, expected {}", node.name, node.op, i,
            DataTypeName(given), DataTypeName(expected[i]));
    }
  }
}

void CheckConstant(const Node& node) {
  const Tensor& value = node.GetTensorAttr("value");
  if (value.valid() && value.dtype() != node.TypeAttr("dtype")) {
    Throw(Code::kInvalidArgument, "node '{}': the constant has dtype {}, attribute 'dtype' says {}",
          node.name, DataTypeName(value.dtype()), DataTypeName(node.TypeAttr("dtype")));
  }
}

// Notes what `check` throws for a node that has no problem yet.
template <typename Check>
void NoteForEachNode(Graph* graph, Check check) {
  for (const NodeId id : graph->node_ids()) {
    if (graph->problems.contains(id)) continue;
    try {
      check(graph->node(id));
    } catch (const Error& error) {
      graph->problems.emplace(id, error);
    }
  }
}

}  // namespace

void CheckAttrValues(const Node& node, const OpDef& def) {
  for (const AttrDef& attr : def.attrs) {
    const AttrValue* value = node.FindAttr(attr.name);
    if (value != nullptr) CheckAttrValue(node, attr, *value);
  }
}

void NoteProblems(Graph* graph) {
  CheckNoLoops(*graph);
  CheckSourcesExist(*graph);
  const OpRegistry& registry = OpRegistry::Global();
  NoteForEachNode(graph, [&](const Node& node) {
    if (const OpDef* def = registry.Find(node.op)) {
      CheckAttrs(node, *def);
      OutputTypes(node);
    }
    if (node.op == "Const") CheckConstant(node);
  });
  const GraphOutputTypes outputs = CollectOutputTypes(*graph);
  for (const Node& node : graph->nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) CheckSource(*graph, outputs, node, i);
  }
  NoteForEachNode(graph,
                  [&](const Node& node) { CheckInputs(*graph, outputs, node, registry.Find(node.op)); });
  graph->TopologicalOrder();
}

void ValidateGraph(const Graph& graph) {
  Graph checked = graph;
  checked.problems.clear();
  NoteProblems(&checked);
  if (!checked.problems.empty()) throw checked.problems.begin()->second;
}

}  // namespace lanescope
