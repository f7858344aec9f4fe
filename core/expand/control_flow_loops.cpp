// SPDX-License-Identifier: Apache-2.0
// Loops and branches by functions: trips one after the other, both sides where data decide.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/expand/control_flow_expander.h"

namespace lanescope {
namespace {

constexpr int64_t kMaxTrips = 1 << 19;     // of all loops
constexpr size_t kMaxUnknownTrips = 1024;  // of a loop whose end nobody has told

}  // namespace

ControlFlowExpander::Body ControlFlowExpander::EmitFunction(const GraphBody& function,
                                                            const std::string& caller,
                                                            const ExpandedValues& arguments,
                                                            const Site& site) {
  if (function.arguments.size() != arguments.size()) {
    Throw(Code::kInvalidArgument, "node '{}' gives its function {} arguments; it takes {}", caller,
          arguments.size(), function.arguments.size());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    CheckType(caller, arguments[i], function.types.Of({function.arguments[i], 0}));
  }
  const Emitted emitted = Emit(function, arguments, site);
  Body body;
  for (const Endpoint& output : function.outputs) body.outputs.push_back(emitted.at(output));
  for (const NodeId effect : function.effects) {
    const std::vector<NodeId>& after = emitted.after[effect];
    body.effects.insert(body.effects.end(), after.begin(), after.end());
  }
  return body;
}

std::optional<bool> ControlFlowExpander::Known(const std::string& name,
                                               const ExpandedValue& condition) const {
  if (!condition.is_tensor()) Throw(Code::kInvalidArgument, "node '{}' has a list for a condition", name);
  const TensorInfo& info = graph_.info(condition.tensor);
  if (const auto value = graph_.ConstantAt(condition.tensor)) return *value != 0;
  if (info.dtype != DataType::kBool || (info.shape.known_rank() && info.shape.rank() > 0)) {
    Throw(Code::kUnimplemented, "node '{}' has a condition that is no single bool", name);
  }
  return std::nullopt;
}

ExpandedValues ControlFlowExpander::Unroll(const Node& node, const std::string& name,
                                           const ExpandedValues& inputs, const std::vector<NodeId>& controls,
                                           std::vector<NodeId>* effects) {
  const GraphBody& condition = functions_.Of(node, "cond");
  const GraphBody& body = functions_.Of(node, "body");
  const auto given = options_.trips.find(name);
  ExpandedValues state = inputs;
  std::vector<std::pair<Endpoint, ExpandedValues>> open;  // conditions that data decide, and the state there
  TripCount count;
  NodeId ended;  // the check that the loop did not want to go on
  for (int64_t trip = 0;; ++trip) {
    if (++trips_ > kMaxTrips)
      Throw(Code::kInvalidArgument, "node '{}': loops run more than {} times", name, kMaxTrips);
    const std::string below = name + "/" + std::to_string(trip) + "/";
    const Site site{below, effects->empty() ? controls : *effects};
    const Body asked = EmitFunction(condition, name, state, {below + "cond/", site.controls});
    if (asked.outputs.size() != 1)
      Throw(Code::kInvalidArgument, "node '{}' has a condition with {} outputs", name, asked.outputs.size());
    std::optional<bool> known = Known(name, asked.outputs[0]);
    if (options_.exact_trips && given != options_.trips.end()) known = trip < given->second;
    if (known && !*known) break;
    if (!known) {
      if (given != options_.trips.end() && trip >= given->second) {
        RequireEnd(node, name, asked.outputs[0].tensor, given->second, effects);
        ended = effects->back();
        break;
      }
      if (given == options_.trips.end() && open.size() >= kMaxUnknownTrips) {
        Throw(Code::kUnimplemented,
              "node '{}' ({}): data say how often it runs; say how often at most in 'trips' of the run "
              "configuration",
              name, node.op);
      }
      open.emplace_back(asked.outputs[0].tensor, state);
      taken_.push_back({asked.outputs[0].tensor, true});
      count.conditions.push_back({asked.outputs[0].tensor, 0});
    }
    ++(count.conditions.empty() ? count.known : count.conditions.back().second);
    Body made = EmitFunction(body, name, state, site);
    if (made.outputs.size() != state.size()) {
      Throw(Code::kInvalidArgument, "node '{}' has {} variables, and its body gives {}", name, state.size(),
            made.outputs.size());
    }
    for (size_t i = 0; i < state.size(); ++i) CheckType(name, made.outputs[i], TypeOf(state[i]));
    if (!made.effects.empty()) *effects = std::move(made.effects);
    state = std::move(made.outputs);
  }
  LeaveConditions(taken_.size() - open.size());
  WriteTripCount(name, node.device, count);
  // The state of the trip before which the condition first said no.
  for (size_t k = open.size(); k-- > 0;) {
    for (size_t i = 0; i < state.size(); ++i) {
      state[i] = lists_.Choose(open[k].first, state[i], open[k].second[i],
                               name + "/" + std::to_string(k) + "/output_" + std::to_string(i), node.device);
    }
  }
  // Nobody gets a result of a loop that was cut off.
  for (size_t i = 0; ended.exists() && i < state.size(); ++i) {
    if (!state[i].is_tensor() || TypeOf(state[i]) == DataType::kResource) continue;
    NodeBuilder checked = graph_.New("Identity", name + "/output_" + std::to_string(i), node.device);
    state[i].tensor = graph_.Add(checked.Input(state[i].tensor).ControlInput(ended));
  }
  return state;
}

// The sum of the trips that each condition lets run, where all before it held, too.
void ControlFlowExpander::WriteTripCount(const std::string& name, const std::string& device,
                                         const TripCount& count) {
  if (count.conditions.empty()) return;
  if (options_.counted != nullptr) options_.counted->push_back(name);
  std::vector<Endpoint> terms;
  const auto number = [&](int64_t value) {
    return graph_.Constant(name + "/trips/number", Tensor::Scalar(static_cast<int32_t>(value)), device);
  };
  if (count.known > 0) terms.push_back(number(count.known));
  std::optional<Endpoint> reached;
  for (const auto& [condition, trips] : count.conditions) {
    reached =
        !reached
            ? condition
            : graph_.Add(
                  graph_.New("LogicalAnd", name + "/trips/reached", device).Input(*reached).Input(condition));
    Endpoint term = graph_.Add(
        graph_.New("Cast", name + "/trips/one", device).Input(*reached).Attr("DstT", DataType::kInt32));
    if (trips > 1) {
      NodeBuilder several = graph_.New("Mul", name + "/trips/several", device);
      term = graph_.Add(several.Input(term).Input(number(trips)));
    }
    terms.push_back(term);
  }
  graph_.Add(graph_.New("AddN", name + "/trips", device).Inputs(terms));
}

void ControlFlowExpander::RequireEnd(const Node& node, const std::string& name, Endpoint condition,
                                     int64_t trips, std::vector<NodeId>* effects) {
  const Endpoint ended = graph_.Add(graph_.New("LogicalNot", name + "/ended", node.device).Input(condition));
  Tensor text(DataType::kString, Shape{});
  text.data<std::string>()[0] =
      "loop " + name + " wants to run more often than the " + std::to_string(trips) + " times of 'trips'";
  const Endpoint message = graph_.Constant(name + "/message", text, node.device);
  NodeBuilder require = graph_.New("Assert", name + "/require_end", node.device);
  effects->push_back(graph_.Add(require.Input(ended).Input(message)).node);
}

ExpandedValues ControlFlowExpander::Branch(const Node& node, const std::string& name,
                                           const ExpandedValues& inputs, const std::vector<NodeId>& controls,
                                           std::vector<NodeId>* effects) {
  if (inputs.empty()) Throw(Code::kInvalidArgument, "node '{}' has no condition", name);
  if (IsCase(node.op)) return Case(node, name, inputs, controls, effects);
  const std::vector<BranchBody> bodies = {{&functions_.Of(node, "then_branch"), name + "/then/"},
                                          {&functions_.Of(node, "else_branch"), name + "/else/"}};
  const ExpandedValues arguments(inputs.begin() + 1, inputs.end());
  if (const std::optional<bool> known = Known(name, inputs[0]))
    return Taken(bodies[*known ? 0 : 1], name, arguments, controls, effects);
  return FirstThatHolds(node, name, bodies, {inputs[0].tensor}, arguments, controls, effects);
}

// An index of no branch is the last one's.
ExpandedValues ControlFlowExpander::Case(const Node& node, const std::string& name,
                                         const ExpandedValues& inputs, const std::vector<NodeId>& controls,
                                         std::vector<NodeId>* effects) {
  std::vector<BranchBody> bodies;
  for (const GraphBody* body : functions_.ListOf(node, "branches"))
    bodies.push_back({body, fmt::format("{}/branch_{}/", name, bodies.size())});
  const auto last = static_cast<int64_t>(bodies.size()) - 1;
  const ExpandedValues arguments(inputs.begin() + 1, inputs.end());
  const Endpoint index = inputs[0].tensor;
  const bool single = inputs[0].is_tensor() && graph_.info(index).dtype == DataType::kInt32 &&
                      !(graph_.info(index).shape.known_rank() && graph_.info(index).shape.rank() > 0);
  if (!single) Throw(Code::kUnimplemented, "node '{}' has an index that is no single int32", name);
  if (const auto known = graph_.ConstantAt(index)) {
    const auto branch = static_cast<int64_t>(*known);
    return Taken(bodies[static_cast<size_t>(branch < 0 ? last : std::min(branch, last))], name, arguments,
                 controls, effects);
  }
  std::vector<Endpoint> conditions;
  for (int64_t i = 0; i < last; ++i) {
    const std::string is = fmt::format("{}/is_{}", name, i);
    const Endpoint number =
        graph_.Constant(is + "/number", Tensor::Scalar(static_cast<int32_t>(i)), node.device);
    conditions.push_back(graph_.Add(graph_.New("Equal", is, node.device).Input(index).Input(number)));
  }
  if (conditions.empty()) return Taken(bodies[0], name, arguments, controls, effects);
  return FirstThatHolds(node, name, bodies, conditions, arguments, controls, effects);
}

ExpandedValues ControlFlowExpander::Taken(const BranchBody& branch, const std::string& name,
                                          const ExpandedValues& arguments,
                                          const std::vector<NodeId>& controls, std::vector<NodeId>* effects) {
  Body body = EmitFunction(*branch.body, name, arguments, {branch.prefix, controls});
  effects->insert(effects->end(), body.effects.begin(), body.effects.end());
  return std::move(body.outputs);
}

ExpandedValues ControlFlowExpander::FirstThatHolds(const Node& node, const std::string& name,
                                                   const std::vector<BranchBody>& bodies,
                                                   const std::vector<Endpoint>& conditions,
                                                   const ExpandedValues& arguments,
                                                   const std::vector<NodeId>& controls,
                                                   std::vector<NodeId>* effects) {
  std::vector<ExpandedValues> made;
  const size_t around = taken_.size();
  for (size_t k = 0; k < bodies.size(); ++k) {
    // Where no condition before it holds, and its own does.
    if (k > 0) {
      LeaveConditions(around + k - 1);
      taken_.push_back({conditions[k - 1], false});
    }
    if (k < conditions.size()) taken_.push_back({conditions[k], true});
    made.push_back(Taken(bodies[k], name, arguments, controls, effects));
  }
  LeaveConditions(around);
  ExpandedValues chosen = std::move(made.back());
  for (size_t k = conditions.size(); k-- > 0;) {
    if (made[k].size() != chosen.size()) {
      Throw(Code::kInvalidArgument, "node '{}': its branches have {} and {} outputs", name, made[k].size(),
            chosen.size());
    }
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (TypeOf(made[k][i]) != TypeOf(chosen[i]))
        Throw(Code::kInvalidArgument, "node '{}': its branches have outputs of different types", name);
      chosen[i] = lists_.Choose(conditions[k], made[k][i], chosen[i], name + "/output_" + std::to_string(i),
                                node.device);
    }
  }
  return chosen;
}

NodeId ControlFlowExpander::Finish(const Node& node, const std::string& name, const ExpandedValues& values,
                                   const std::vector<NodeId>& controls) {
  Node last;
  last.name = name;
  last.device = node.device;
  std::vector<DataType> types;
  for (const ExpandedValue& value : values) {
    if (!value.is_tensor() || TypeOf(value) == DataType::kResource) continue;
    last.inputs.push_back(value.tensor);
    types.push_back(TypeOf(value));
  }
  last.control_inputs = controls;
  if (values.empty() || types.size() != values.size()) {
    last.inputs.clear();
    last.op = "NoOp";
  } else if (types.size() == 1) {
    last.op = "Identity";
    last.attrs["T"] = types[0];
  } else {
    last.op = "IdentityN";
    last.attrs["T"] = types;
  }
  std::ranges::sort(last.control_inputs);
  last.control_inputs.erase(std::ranges::unique(last.control_inputs).begin(), last.control_inputs.end());
  return graph_.Add(std::move(last));
}

}  // namespace lanescope
