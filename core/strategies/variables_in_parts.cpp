// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/variables_in_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/graph/op.h"
#include "core/strategies/colocation.h"
#include "core/strategies/divided_cost.h"

namespace lanescope {
namespace {

int64_t ElementsOf(const Node& variable) {
  const Shape& shape = variable.GetShapeAttr("shape");
  return shape.known_rank() && shape.IsExact() ? shape.NumElements() : -1;
}

}  // namespace

bool IsDenseUpdate(const std::string& op) {
  static const std::set<std::string_view> kAssigns = {
      "Assign", "AssignAdd", "AssignSub", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"};
  return kAssigns.contains(op) || op.starts_with("Apply") || op.starts_with("ResourceApply");
}

bool IsFusedUpdate(const Node& node) { return node.op == "FusedUpdate" && node.inputs.size() > 1; }

void ShareFusedUpdate(int64_t elements, int64_t parts, Node* node) {
  node->attrs["_lanescope_cost"] = DividedNumbers(node->StringAttr("_lanescope_cost"), parts);
  node->attrs["_output_shapes"] = std::vector<ShapeAttr>{{Shape{elements / parts}, ""}};
}

bool IsVariableOp(const Node& node) {
  return node.op == "VariableV2" || node.op == "Variable" || node.op == "VarHandleOp";
}

bool IsElementwise(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  return def != nullptr && def->role == StateRole::kNone &&
         (def->in_place || node.op == "Identity" || node.op == "Cast");
}

std::string BlockOf(std::string_view variable) {
  size_t begin = 0, last = 0;
  while (true) {
    const size_t end = variable.find_first_of("/.", begin);
    const std::string_view part = variable.substr(begin, end - begin);
    if (!part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; }))
      return std::string(variable.substr(0, begin + part.size()));
    if (end == std::string_view::npos) return std::string(variable.substr(0, last));
    last = end;
    begin = end + 1;
  }
}

VariablesInParts::VariablesInParts(const Graph& graph, std::function<bool(NodeId)> once, size_t parts)
    : graph_(graph), once_(std::move(once)) {
  const Fanout fanout = ComputeFanout(graph);
  for (const NodeId id : graph.node_ids()) {
    if (IsVariableOp(graph.node(id)) && CanBeInParts(id, fanout, parts)) variables_.insert(id);
  }
  bool changed = true;
  while (std::exchange(changed, false)) {
    for (const NodeId id : graph.node_ids()) changed |= LeavesOut(id);
  }
}

bool VariablesInParts::CanBeInParts(NodeId variable, const Fanout& fanout, size_t parts) const {
  const Node& node = graph_.node(variable);
  const DataType type = node.TypeAttr("dtype", DataType::kInvalid);
  const int64_t elements = ElementsOf(node);
  if ((type != DataType::kFloat && type != DataType::kHalf && type != DataType::kBfloat16) || elements <= 1 ||
      elements % static_cast<int64_t>(parts) != 0)
    return false;
  const bool is_handle = node.op == "VarHandleOp";
  return std::ranges::all_of(fanout[variable], [&](const NodeUse& use) {
    if (use.input < 0) return true;
    const Node& user = graph_.node(use.node);
    if (IsFusedUpdate(user)) return use.input > 0;
    const OpDef* def = OpRegistry::Global().Find(user.op);
    if (def == nullptr) return false;
    const bool writes = std::ranges::find(def->updates, use.input) != def->updates.end();
    return writes ? IsDenseUpdate(user.op) : !is_handle || user.op == "ReadVariableOp";
  });
}

bool VariablesInParts::LeavesOut(NodeId update) {
  const Node& node = graph_.node(update);
  if (!IsDenseUpdate(node.op) && !IsFusedUpdate(node)) return false;
  std::vector<NodeId> written;
  for (const Endpoint& input : node.inputs) {
    const Node& source = graph_.node(input.node);
    if (IsVariableOp(source) && ElementsOf(source) != 1) written.push_back(input.node);
  }
  const auto in_parts = std::ranges::count_if(written, [&](NodeId id) { return IsVariable(id); });
  if (in_parts == 0 || static_cast<size_t>(in_parts) == written.size()) return false;
  for (const NodeId id : written) variables_.erase(id);
  return true;
}

bool VariablesInParts::IsRead(NodeId id) const {
  const Node& node = graph_.node(id);
  return (node.op == "ReadVariableOp" || node.op == "Identity") && once_(id) && !node.inputs.empty() &&
         IsVariable(node.inputs[0].node);
}

bool VariablesInParts::IsReadAnyTime(NodeId id) const {
  return (IsVariable(id) || IsRead(id)) && graph_.node(id).control_inputs.empty();
}

NodeId VariablesInParts::UpdatedBy(NodeId id) const {
  const Node& node = graph_.node(id);
  if (once_(id) && IsFusedUpdate(node))
    return IsVariable(node.inputs[1].node) ? node.inputs[1].node : NodeId();
  if (!once_(id) || !IsDenseUpdate(node.op)) return {};
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def == nullptr || def->updates.empty() || node.inputs.empty()) return {};
  const NodeId variable = node.inputs[static_cast<size_t>(def->updates[0])].node;
  return IsVariable(variable) ? variable : NodeId();
}

const std::string& VariablesInParts::NameOfVariable(NodeId id) const {
  if (IsVariable(id)) return graph_.node(id).name;
  const NodeId updated = UpdatedBy(id);
  return graph_.node(updated.exists() ? updated : graph_.node(id).inputs[0].node).name;
}

void VariablesInParts::DropColocation(int part, Node* node) const {
  RenameColocation(node, [&](const std::string& name) -> std::optional<std::string> {
    const NodeId with = graph_.FindNode(name);
    if (with.exists() && Has(with))
      return part < 0 ? std::nullopt : std::optional(fmt::format("{}/shard_{}", name, part));
    return part < 0 ? std::optional(name) : std::nullopt;
  });
}

}  // namespace lanescope
