// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/expert_stacks.h"

#include <algorithm>
#include <vector>

#include "core/strategies/layout_lookups.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

bool IsStackShape(const Shape& shape) {
  return shape.known_rank() && shape.IsExact() && shape.rank() >= 2 && shape.dim(0) >= 2;
}

}  // namespace

ExpertStacks::ExpertStacks(const Graph& graph, const GraphInfo& info)
    : graph_(graph), info_(info), fanout_(ComputeFanout(graph)), in_parts_(graph.num_nodes(), 0) {
  FindVariables();
  AddSlots();
  FindInParts();
}

bool ExpertStacks::IsRead(NodeId id) const {
  const Node& node = graph_.node(id);
  return (node.op == "ReadVariableOp" || node.op == "Identity") && node.inputs.size() == 1;
}

bool ExpertStacks::KeepsFirstAxis(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.op != "Transpose") return false;
  const auto order = NumbersOf(info_.of(node.inputs[1]));
  return order && !order->empty() && order->front() == 0;
}

// The variable that the node shows, as it is or turned; none: it shows no variable.
NodeId ExpertStacks::StackOf(NodeId id) const {
  while (!IsVariableOp(graph_.node(id))) {
    if (!IsRead(id) && !KeepsFirstAxis(id)) return {};
    id = graph_.node(id).inputs[0].node;
  }
  return id;
}

std::optional<int64_t> ExpertStacks::ExpertTaken(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.op != "StridedSlice") return std::nullopt;
  const Shape &from = info_.of(node.inputs[0]).shape, &to = info_.of({id, 0}).shape;
  if (!IsStackShape(from) || !to.IsExact() || to.NumElements() * from.dim(0) != from.NumElements())
    return std::nullopt;
  const auto begin = NumbersOf(info_.of(node.inputs[1])), end = NumbersOf(info_.of(node.inputs[2])),
             steps = NumbersOf(info_.of(node.inputs[3]));
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"}) {
    if (node.IntAttr(mask, 0) % 2 != 0) return std::nullopt;
  }
  if (node.IntAttr("ellipsis_mask", 0) != 0 || node.IntAttr("new_axis_mask", 0) != 0) return std::nullopt;
  if (!begin || !end || !steps || begin->empty() || steps->front() != 1) return std::nullopt;
  const int64_t expert = begin->front();
  if (expert < 0 || expert >= from.dim(0) || end->front() != expert + 1) return std::nullopt;
  return expert;
}

// Updated element by element and read, and nothing else.
bool ExpertStacks::IsWritten(NodeId variable) const {
  const bool is_handle = graph_.node(variable).op == "VarHandleOp";
  return std::ranges::all_of(fanout_[variable], [&](const NodeUse& use) {
    const std::string& op = graph_.node(use.node).op;
    return use.input < 0 || IsDenseUpdate(op) || !is_handle || op == "ReadVariableOp";
  });
}

void ExpertStacks::FindVariables() {
  std::map<NodeId, std::set<int64_t>> taken;
  for (const NodeId id : graph_.node_ids()) {
    if (const auto expert = ExpertTaken(id)) {
      const NodeId variable = StackOf(graph_.node(id).inputs[0].node);
      if (variable.exists()) taken[variable].insert(*expert);
    }
  }
  for (const auto& [variable, experts] : taken) {
    const Shape& shape = graph_.node(variable).GetShapeAttr("shape");
    if (IsStackShape(shape) && static_cast<int64_t>(experts.size()) == shape.dim(0) && IsWritten(variable))
      experts_[variable] = shape.dim(0);
  }
}

// State of the optimizer that is updated together with a stack.
void ExpertStacks::AddSlots() {
  for (const NodeId id : graph_.node_ids()) {
    const Node& node = graph_.node(id);
    if (!IsDenseUpdate(node.op) || node.inputs.empty() || !experts_.contains(node.inputs[0].node)) continue;
    const NodeId stack = node.inputs[0].node;
    const Shape shape = graph_.node(stack).GetShapeAttr("shape");
    for (const Endpoint& input : node.inputs) {
      const Node& slot = graph_.node(input.node);
      if (IsVariableOp(slot) && slot.GetShapeAttr("shape") == shape) experts_[input.node] = shape.dim(0);
    }
  }
}

void ExpertStacks::FindInParts() {
  for (const NodeId id : graph_.TopologicalOrder()) {
    const Node& node = graph_.node(id);
    if (experts_.contains(id)) {
      in_parts_[id] = 1;
    } else if (node.inputs.empty() || IsUpdate(id)) {
      continue;
    } else if (IsRead(id) || KeepsFirstAxis(id)) {
      in_parts_[id] = in_parts_[node.inputs[0].node];
    } else if (IsElementwise(node)) {
      const Shape& shape = info_.of({id, 0}).shape;
      bool any = false, alike = IsStackShape(shape);
      for (const Endpoint& input : node.inputs) {
        const Shape& other = info_.of(input).shape;
        any = any || in_parts_[input.node] != 0;
        alike =
            alike && other.known_rank() && other.IsExact() && (other.NumElements() == 1 || other == shape);
      }
      in_parts_[id] = any && alike ? 1 : 0;
    }
  }
  for (const NodeId id : graph_.node_ids()) {
    const Node& node = graph_.node(id);
    if (node.op != "Pack" || node.IntAttr("axis", 0) != 0) continue;
    const auto uses = fanout_[id];
    const bool for_parts = !uses.empty() && std::ranges::all_of(uses, [&](const NodeUse& use) {
      return use.input >= 0 && (in_parts_[use.node] != 0 || IsUpdate(use.node));
    });
    if (for_parts) joined_.insert(id);
  }
}

bool ExpertStacks::IsUpdate(NodeId id) const {
  const Node& node = graph_.node(id);
  return IsDenseUpdate(node.op) && !node.inputs.empty() && experts_.contains(node.inputs[0].node);
}

NodeId ExpertStacks::FindOdd(int parts) const {
  for (const auto& [variable, experts] : experts_) {
    if (experts % parts != 0) return variable;
  }
  return {};
}

}  // namespace lanescope
