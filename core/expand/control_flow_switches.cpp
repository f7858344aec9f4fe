// SPDX-License-Identifier: Apache-2.0
// Branches by Switch and Merge: which nodes are on which side of a condition.
#include <algorithm>

#include "core/expand/control_flow_expander.h"

namespace lanescope {

bool ControlFlowExpander::IsDead(const Endpoint& input, const Emitted& out) {
  return out.dead[input.node] || out.at(input).empty();
}

bool ControlFlowExpander::IsDead(const Node& node, const Emitted& out) {
  return std::ranges::any_of(node.inputs, [&](const Endpoint& input) { return IsDead(input, out); }) ||
         std::ranges::any_of(node.control_inputs, [&](NodeId c) { return out.dead[c]; });
}

Sides ControlFlowExpander::SidesOf(const GraphBody& body, const Endpoint& input, const Emitted& out) {
  const NodeId source = input.node;
  Sides sides = out.sides[source];
  if (IsSwitch(body.graph.node(input.node).op) && out.conditions[source].node.exists())
    sides.push_back({out.conditions[source], input.output == 1});
  return sides;
}

Sides ControlFlowExpander::SidesOf(const GraphBody& body, const Node& node, const Emitted& out) {
  Sides sides;
  const auto add = [&](const Sides& more) {
    for (const Side& side : more) {
      if (std::ranges::find(sides, side) == sides.end()) sides.push_back(side);
    }
  };
  for (const Endpoint& input : node.inputs) add(SidesOf(body, input, out));
  for (const NodeId control : node.control_inputs) add(out.sides[control]);
  return sides;
}

void ControlFlowExpander::LeaveConditions(size_t left) {
  taken_.resize(left);
  taken_all_.resize(std::min(left, taken_all_.size()));
}

std::optional<Endpoint> ControlFlowExpander::WhetherTaken(const Sides& own, const std::string& name,
                                                          const std::string& device) {
  std::optional<Endpoint> all;
  const auto add = [&](const Side& side) {
    Endpoint holds = side.condition;
    if (!side.yes) holds = graph_.Add(graph_.New("LogicalNot", name + "/not_taken", device).Input(holds));
    all =
        all ? graph_.Add(graph_.New("LogicalAnd", name + "/taken", device).Input(*all).Input(holds)) : holds;
  };
  if (!taken_all_.empty()) all = taken_all_.back();
  while (taken_all_.size() < taken_.size()) {
    add(taken_[taken_all_.size()]);
    taken_all_.push_back(*all);
  }
  for (const Side& side : own) add(side);
  return all;
}

ExpandedValue ControlFlowExpander::OnThisSide(ExpandedValue optional, const Sides& own) const {
  const auto side_of = [&](Endpoint condition) -> std::optional<bool> {
    for (const Sides* sides : {&own, &taken_}) {
      for (const Side& side : *sides) {
        if (side.condition == condition) return side.yes;
      }
    }
    return std::nullopt;
  };
  while (optional.choice != nullptr) {
    const std::shared_ptr<const OptionalChoice> choice = optional.choice;
    const std::optional<bool> side = side_of(choice->condition);
    if (!side) break;
    optional = *side ? choice->yes : choice->no;
  }
  return optional;
}

ExpandedValues ControlFlowExpander::Switch(const std::string& name, const ExpandedValues& inputs,
                                           Endpoint* condition) const {
  if (inputs.size() != 2) Throw(Code::kInvalidArgument, "node '{}': Switch takes 2 inputs", name);
  const std::optional<bool> known = Known(name, inputs[1]);
  if (known) return {*known ? ExpandedValue{} : inputs[0], *known ? inputs[0] : ExpandedValue{}};
  *condition = inputs[1].tensor;
  return {inputs[0], inputs[0]};
}

ExpandedValues ControlFlowExpander::Merge(const Node& node, const std::string& name, const GraphBody& body,
                                          Emitted* out, Sides* sides) {
  std::vector<size_t> alive;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!IsDead(node.inputs[i], *out)) alive.push_back(i);
  }
  const auto number = [&](size_t i) {
    return ExpandedValue{.tensor = graph_.Constant(name + "/input_" + std::to_string(i),
                                                   Tensor::Scalar(static_cast<int32_t>(i)), node.device)};
  };
  if (alive.empty()) return {{}, {}};
  if (alive.size() == 1) {
    *sides = SidesOf(body, node.inputs[alive[0]], *out);
    return {out->at(node.inputs[alive[0]]), number(alive[0])};
  }
  if (alive.size() > 2) Throw(Code::kUnimplemented, "node '{}': a Merge of {} inputs", name, alive.size());
  const Sides first = SidesOf(body, node.inputs[alive[0]], *out);
  const Sides second = SidesOf(body, node.inputs[alive[1]], *out);
  for (const Side& side : first) {
    const Side other = {side.condition, !side.yes};
    if (std::ranges::find(second, other) == second.end()) continue;
    for (const Sides* all : {&first, &second}) {
      for (const Side& left : *all) {
        if (left.condition != side.condition && std::ranges::find(*sides, left) == sides->end())
          sides->push_back(left);
      }
    }
    const size_t yes = alive[side.yes ? 0 : 1], no = alive[side.yes ? 1 : 0];
    return {
        lists_.Choose(side.condition, out->at(node.inputs[yes]), out->at(node.inputs[no]), name, node.device),
        lists_.Choose(side.condition, number(yes), number(no), name + "/input", node.device)};
  }
  Throw(Code::kUnimplemented, "node '{}': a Merge of inputs that are not the two sides of one condition",
        name);
}

}  // namespace lanescope
