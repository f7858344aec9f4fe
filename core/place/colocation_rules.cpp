// SPDX-License-Identifier: Apache-2.0
#include "core/place/colocation_rules.h"

#include <algorithm>

#include "core/graph/op_args.h"

namespace lanescope {
namespace {

// Number of outputs, 2 for "more than one"; whether the first one is state.
struct OutputSummary {
  int count = 0;
  bool is_ref = false;
  bool is_resource = false;
};

OutputSummary SummarizeOutputs(const Node& node, const OpRegistry& registry) {
  OutputSummary summary;
  const OpDef* def = registry.SignatureOf(node);
  if (def == nullptr) {
    summary.count = 1;
    return summary;
  }
  ForEachArg(def->outputs, node, [&](int flat, const ArgDef& arg, DataType type) {
    ++summary.count;
    if (flat > 0) return;
    summary.is_ref = arg.is_ref;
    summary.is_resource = type == DataType::kResource;
  });
  return summary;
}

bool MayTakeState(const ArgDef& arg) {
  return arg.is_ref || arg.type == DataType::kResource || !arg.type_attr.empty() ||
         !arg.type_list_attr.empty();
}

}  // namespace

void ForEachSharedStateEdge(const Graph& graph, std::span<const NodeId> order, const OpRegistry& registry,
                            const std::function<void(NodeId src, NodeId dst)>& visit) {
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const bool readable = !node.inputs.empty() && !graph.problems.contains(id);
    const OpDef* def = !readable ? nullptr : registry.SignatureOf(node);
    if (def == nullptr || std::none_of(def->inputs.begin(), def->inputs.end(), MayTakeState)) continue;
    ForEachArg(def->inputs, node, [&](int flat, const ArgDef& arg, DataType type) {
      if (!arg.is_ref && type != DataType::kResource) return;
      if (flat < static_cast<int>(node.inputs.size())) visit(node.inputs[static_cast<size_t>(flat)].node, id);
    });
  }
}

NodeId GroupFounders::Join(std::string_view name, NodeId id) {
  const NodeId namesake = graph_.FindNode(name);
  if (!namesake.exists()) return others_.emplace(name, id).first->second;
  NodeId& founder = of_node_[namesake];
  if (!founder.exists()) founder = id;
  return founder;
}

NodeId GroupFounders::JoinOwn(NodeId id) {
  NodeId& founder = of_node_[id];
  if (!founder.exists()) founder = id;
  return founder;
}

std::vector<std::string_view> LocationsOf(const Node& node) {
  constexpr std::string_view kPrefix = "loc:@";
  std::vector<std::string_view> locations;
  const AttrValue* attr = node.FindAttr("_class");
  const auto* classes = attr == nullptr ? nullptr : std::get_if<std::vector<std::string>>(attr);
  if (classes == nullptr) return locations;
  for (const std::string_view name : *classes) {
    if (name.starts_with(kPrefix)) locations.push_back(name.substr(kPrefix.size()));
  }
  return locations;
}

bool IsStateGenerator(const Node& node, const OpRegistry& registry) {
  if (!node.inputs.empty()) return false;
  const OutputSummary outputs = SummarizeOutputs(node, registry);
  return outputs.count == 1 && (outputs.is_ref || outputs.is_resource);
}

bool IsGenerator(const Node& node, const OpRegistry& registry) {
  if (!node.inputs.empty()) return false;
  const OutputSummary outputs = SummarizeOutputs(node, registry);
  return outputs.count == 1 && !outputs.is_ref;
}

}  // namespace lanescope
