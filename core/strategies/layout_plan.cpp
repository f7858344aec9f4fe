// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/layout_plan.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "core/strategies/layout_lookups.h"
#include "core/strategies/variables_in_parts.h"

namespace lanescope {
namespace {

constexpr int kMostRounds = 32;
constexpr std::string_view kFusedUpdate = "FusedUpdate";

bool IsFloating(DataType type) {
  return type == DataType::kFloat || type == DataType::kHalf || type == DataType::kBfloat16 ||
         type == DataType::kDouble;
}

// The input that is the variable which an update writes first; none: the node is no update. One that is known
// by its cost alone stands before the assignment, and reads the handles.
std::optional<size_t> UpdatedInput(const Node& node) {
  if (node.op == kFusedUpdate && node.inputs.size() > 1) return 1;
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (def == nullptr || def->role != StateRole::kUpdate || def->updates.empty()) return std::nullopt;
  return static_cast<size_t>(def->updates[0]);
}
bool IsUpdate(const Node& node) { return UpdatedInput(node).has_value(); }

// Gives the value of its input, turned or of another type.
bool PassesOn(const Node& node) {
  return node.op == "ReadVariableOp" || node.op == "Identity" || node.op == "Cast" || node.op == "Transpose";
}

// Whole on every device, it would be the work of all of them on each.
bool IsProductOfTokens(const LayoutQuery& query) {
  return query.by == SplitBy::kTokens && query.node.op.find("MatMul") != std::string::npos &&
         std::ranges::any_of(query.layouts, &Layout::parts);
}

// Tokens with columns are what lies between matrices; numbers of tokens are of the loss.
bool HasColumns(std::span<const TensorInfo> outputs, const LayoutChoice& choice) {
  if (outputs.empty() || choice.outputs.empty() || !choice.outputs[0].parts()) return false;
  return choice.outputs[0].axis < outputs[0].shape.rank() - 1;
}

// Gives terms of what it is given as terms, which are no more of them.
bool PassesTermsOn(const Node& node) {
  return node.op == "Reshape" || node.op == "Transpose" || node.op == "AddV2" || node.op == "AddN";
}

bool HasStateOfItsOwn(const Node& node) {
  const OpDef* def = OpRegistry::Global().Find(node.op);
  if (node.op.starts_with("Placeholder") || node.inputs.empty()) {
    if (node.op != "Const" && !IsVariableOp(node)) return true;
  }
  if (def == nullptr) return false;
  return def->host_only || def->role == StateRole::kTable || (def->stateful && def->role == StateRole::kNone);
}

}  // namespace

bool IsOnHost(const Node& node) {
  return node.device.find("CPU") != std::string::npos || node.device.find("cpu") != std::string::npos;
}

std::optional<int64_t> BytesMoved(const Layout& from, const Layout& to, int64_t bytes) {
  if (from == to || (from.whole() && to.parts())) return 0;
  if (to.terms()) return std::nullopt;
  return from.terms() && to.whole() ? 2 * bytes : bytes;
}

LayoutPlan::LayoutPlan(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, char>& nodes,
                       Goal goal)
    : graph_(graph),
      info_(info),
      nodes_(nodes),
      goal_(std::move(goal)),
      fanout_(ComputeFanout(graph)),
      members_(graph),
      once_(graph.num_nodes(), 0),
      choices_(graph.num_nodes()) {
  for (const NodeId id : graph.TopologicalOrder()) {
    if (nodes_[id] == 0) continue;
    order_.push_back(id);
    once_[id] = RunsOnce(id) ? 1 : 0;
  }
  PutComputedOfVariablesLast();
  if (goal_.by != SplitBy::kTokens) FindCuttable(fanout_);
  for (int round = 0; round < kMostRounds; ++round) {
    asks_more_ = false;
    GoThrough();
    if (!asks_more_) break;
  }
}

bool LayoutPlan::RunsOnce(NodeId id) const {
  const bool is_wrong = graph_.problems.contains(id);  // compiling the step will say so
  if (IsOnHost(graph_.node(id)) || is_wrong) return true;
  if (goal_.joins_groups && !members_.Of(id).empty()) return false;
  return HasStateOfItsOwn(graph_.node(id));
}

// Weight decay, L2 losses and whatever else is computed of variables alone take them as they lie: they stand
// behind the products that say how, just before what of the inputs reads them.
void LayoutPlan::PutComputedOfVariablesLast() {
  IdVector<NodeId, char> of_inputs(graph_.num_nodes(), 0);
  IdVector<NodeId, size_t> place(graph_.num_nodes(), order_.size());
  for (size_t i = 0; i < order_.size(); ++i) {
    const NodeId id = order_[i];
    const Node& node = graph_.node(id);
    if (once_[id] != 0 ||
        std::ranges::any_of(node.inputs, [&](Endpoint in) { return of_inputs[in.node] != 0; }))
      of_inputs[id] = 1;
    if (of_inputs[id] != 0) place[id] = i;
  }
  for (size_t i = order_.size(); i-- > 0;) {
    for (const Endpoint& input : graph_.node(order_[i]).inputs) {
      if (of_inputs[input.node] == 0) place[input.node] = std::min(place[input.node], place[order_[i]]);
    }
  }
  std::ranges::stable_sort(order_, {}, [&](NodeId id) { return place[id]; });
}

// Read whole and updated element by element, so that a part of it is one variable more.
void LayoutPlan::FindCuttable(const Fanout& fanout) {
  for (const NodeId id : order_) {
    const Node& node = graph_.node(id);
    if (!IsVariableOp(node) || once_[id] != 0 || !IsFloating(node.TypeAttr("dtype", DataType::kInvalid)))
      continue;
    const bool fits = std::ranges::all_of(fanout[id], [&](const NodeUse& use) {
      if (use.input < 0) return true;
      const Node& user = graph_.node(use.node);
      if (IsUpdate(user)) return IsDenseUpdate(user.op) || user.op == kFusedUpdate;
      return node.op != "VarHandleOp" || user.op == "ReadVariableOp" || user.op == "ResourceGather";
    });
    if (fits) cuttable_.insert(id);
  }
}

void LayoutPlan::GoThrough() {
  settled_.clear();
  joined_.clear();
  made_.clear();
  for (const NodeId id : order_) Decide(id);
}

NodeId LayoutPlan::VariableBehind(Endpoint tensor) const {
  NodeId id = tensor.node;
  while (nodes_[id] != 0 && once_[id] == 0 && PassesOn(graph_.node(id))) id = graph_.node(id).inputs[0].node;
  return cuttable_.contains(id) ? id : NodeId();
}

bool LayoutPlan::IsOpen(Endpoint tensor) const {
  const NodeId variable = VariableBehind(tensor);
  return variable.exists() && !settled_.contains(variable);
}

Layout LayoutPlan::of(Endpoint tensor) const {
  const NodeId id = tensor.node;
  if (nodes_[id] == 0 || once_[id] != 0) return kWhole;
  const NodeId variable = VariableBehind(tensor);
  if (variable.exists()) {
    if (id == variable) {
      const auto found = settled_.find(id);
      return found != settled_.end() ? found->second : kWhole;
    }
    const Layout before = of(graph_.node(id).inputs[0]);
    if (graph_.node(id).op != "Transpose" || !before.parts()) return before;
    const auto order = NumbersOf(info_.of(graph_.node(id).inputs[1]));
    if (!order) return kWhole;
    const auto axis = std::ranges::find(*order, before.axis) - order->begin();
    return InParts(static_cast<int>(axis), before.segments);
  }
  const std::vector<Layout>& outputs = choices_[id].outputs;
  return static_cast<size_t>(tensor.output) < outputs.size() ? outputs[static_cast<size_t>(tensor.output)]
                                                             : kWhole;
}

LayoutChoice LayoutPlan::of(NodeId id) const {
  const Node& node = graph_.node(id);
  if (nodes_[id] == 0 || once_[id] != 0) return {std::vector<Layout>(node.inputs.size()), {}};
  if (!VariableBehind({id, 0}).exists()) return choices_[id];
  LayoutChoice choice{std::vector<Layout>(node.inputs.size()), {of({id, 0})}};
  if (!node.inputs.empty()) choice.inputs[0] = of(node.inputs[0]);
  return choice;
}

bool LayoutPlan::HasPartsOfVariables() const {
  return std::ranges::any_of(settled_, [](const auto& each) { return each.second.parts(); });
}

void LayoutPlan::Settle(Endpoint tensor, const Layout& layout) {
  const Node& node = graph_.node(tensor.node);
  if (cuttable_.contains(tensor.node)) {
    settled_[tensor.node] = layout;
    return;
  }
  Layout before = layout;
  if (node.op == "Transpose" && layout.parts()) {
    const auto order = NumbersOf(info_.of(node.inputs[1]));
    before = order ? InParts(static_cast<int>((*order)[static_cast<size_t>(layout.axis)]), layout.segments)
                   : kWhole;
  }
  Settle(node.inputs[0], before);
}

const TensorInfo& LayoutPlan::InfoOf(Endpoint tensor) const {
  const TensorInfo& info = info_.of(tensor);
  return info.handle != nullptr ? *info.handle : info;
}

std::vector<TensorInfo> LayoutPlan::InputsOf(NodeId id) const {
  std::vector<TensorInfo> inputs;
  for (const Endpoint& input : graph_.node(id).inputs) inputs.push_back(InfoOf(input));
  return inputs;
}

void LayoutPlan::Decide(NodeId id) {
  const Node& node = graph_.node(id);
  if (once_[id] != 0 || VariableBehind({id, 0}).exists()) return;
  LayoutChoice& choice = choices_[id];
  choice = IsUpdate(node) ? UpdateOf(id) : members_.Of(id).empty() ? Best(id) : Joined(id);
  if (const auto given = goal_.given.find(id); given != goal_.given.end()) choice.outputs[0] = given->second;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Endpoint input = node.inputs[i];
    if (IsOpen(input))
      Settle(input, choice.inputs[i]);
    else if (of(input).whole() && choice.inputs[i].parts())
      Ask(input, choice.inputs[i]);
    made_.insert({{input.node, input.output}, choice.inputs[i]});
  }
}

LayoutChoice LayoutPlan::Joined(NodeId id) {
  // One that has chosen; terms are never asked for, so whoever comes later can do the same.
  for (const NodeId member : members_.Of(id)) {
    if (joined_.contains(member)) return choices_[member];
  }
  joined_.insert(id);
  return Best(id);
}

void LayoutPlan::Ask(Endpoint tensor, const Layout& layout) {
  if (asked_[{tensor.node, tensor.output}].insert(layout).second) asks_more_ = true;
}

// A tensor that has the shape of the variable lies as it does.
LayoutChoice LayoutPlan::UpdateOf(NodeId id) const {
  const Node& node = graph_.node(id);
  const Endpoint variable = node.inputs[*UpdatedInput(node)];
  const Layout layout = of(variable);
  LayoutChoice choice;
  for (const Endpoint& input : node.inputs)
    choice.inputs.push_back(InfoOf(input).shape == InfoOf(variable).shape ? layout : kWhole);
  choice.outputs = {layout};
  return choice;
}

LayoutQuery LayoutPlan::QueryOf(NodeId id, const std::vector<Layout>& layouts) const {
  const Node& node = graph_.node(id);
  LayoutQuery query{.node = node,
                    .inputs = {},
                    .outputs = info_.outputs(id),
                    .layouts = layouts,
                    .open = {},
                    .asked = {},
                    .segments = 1,
                    .devices = Pieces(),
                    .by = goal_.by,
                    .by_tokens = false,
                    .in_a_row = goal_.order == RingOrder::kInARow};
  for (const Endpoint& input : node.inputs) query.open.push_back(IsOpen(input) ? 1 : 0);
  query.by_tokens =
      goal_.by == SplitBy::kTokens || (goal_.tokens != nullptr && !layouts.empty() && layouts[0].parts() &&
                                       layouts[0] == goal_.tokens->of(node.inputs[0]));
  return query;
}

std::vector<Layout> LayoutPlan::LayoutsRead(NodeId id) const {
  std::vector<Layout> layouts;
  for (const Endpoint& input : graph_.node(id).inputs) {
    const auto fed = goal_.feeds.find(input.node);
    layouts.push_back(fed != goal_.feeds.end() && !ReadsShapeAlone(graph_.node(id)) ? fed->second
                                                                                    : of(input));
  }
  return layouts;
}

void LayoutPlan::AddChoiceByTokens(NodeId id, const std::vector<Layout>& layouts,
                                   std::vector<LayoutChoice>* choices) const {
  if (goal_.tokens == nullptr) return;
  const LayoutChoice choice = goal_.tokens->of(id);
  if (!HasColumns(info_.outputs(id), choice)) return;
  const std::vector<Endpoint>& inputs = graph_.node(id).inputs;
  bool is_offered = false, is_there = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!choice.inputs[i].parts()) continue;
    const bool lies_so = layouts[i] == choice.inputs[i] ||
                         made_.contains({{inputs[i].node, inputs[i].output}, choice.inputs[i]});
    is_there = is_there || lies_so;
    is_offered = is_offered || lies_so || layouts[i].terms();
  }
  // Terms are added up as terms as long as nobody has their sum.
  if (is_offered) choices->insert(is_there ? choices->begin() : choices->end(), choice);
}

LayoutChoice LayoutPlan::Best(NodeId id) const {
  const Node& node = graph_.node(id);
  const std::vector<Layout> layouts = LayoutsRead(id);
  const LayoutChoice whole{std::vector<Layout>(layouts.size()),
                           std::vector<Layout>(info_.outputs(id).size())};
  if (ReadsShapeAlone(node)) return {layouts, whole.outputs};
  LayoutQuery query = QueryOf(id, layouts);
  const std::vector<TensorInfo> inputs = InputsOf(id);
  query.inputs = inputs;
  if (const auto asked = asked_.find({id, 0}); asked != asked_.end()) {
    for (const Layout& each : asked->second) {
      if (EveryReaderTakes({id, 0}, each)) query.asked.push_back(each);
    }
  }
  if (std::ranges::any_of(query.open, [](char open) { return open != 0; }))
    query.segments = SegmentsBehind(id);
  std::vector<LayoutChoice> choices = LayoutChoices(query);
  AddChoiceByTokens(id, layouts, &choices);
  if (choices.empty() || !IsProductOfTokens(query)) choices.push_back(whole);
  if (std::ranges::any_of(choices, [&](const LayoutChoice& each) { return CutsOpenMatrix(id, each); }))
    std::erase_if(choices, [&](const LayoutChoice& each) { return !CutsOpenMatrix(id, each); });
  return *std::ranges::min_element(choices, {}, [&](const LayoutChoice& each) { return CostOf(id, each); });
}

bool LayoutPlan::CutsOpenMatrix(NodeId id, const LayoutChoice& choice) const {
  const std::vector<Endpoint>& inputs = graph_.node(id).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (choice.inputs[i].parts() && IsOpen(inputs[i]) && InfoOf(inputs[i]).shape.rank() > 1) return true;
  }
  return false;
}

// Terms are summed sooner or later.
std::pair<int64_t, int64_t> LayoutPlan::CostOf(NodeId id, const LayoutChoice& choice) const {
  constexpr int64_t kImpossible = int64_t{1} << 60;
  const std::vector<Endpoint>& inputs = graph_.node(id).inputs;
  int64_t cost = 0, of_variables = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto moved = BytesMoved(of(inputs[i]), choice.inputs[i], BytesOf(InfoOf(inputs[i])));
    if (!moved) return {kImpossible, kImpossible};
    if (made_.contains({{inputs[i].node, inputs[i].output}, choice.inputs[i]})) continue;
    cost += *moved;
    if (VariableBehind(inputs[i]).exists()) of_variables += *moved;
  }
  for (size_t k = 0; k < choice.outputs.size(); ++k) {
    if (!choice.outputs[k].terms()) continue;
    const Endpoint output{id, static_cast<int>(k)};
    const bool is_scattered =
        goal_.tokens != nullptr && PassesTermsOn(graph_.node(id)) && goal_.tokens->of(output).parts();
    cost += (is_scattered ? 1 : 2) * BytesOf(info_.of(output));
  }
  return {of_variables, cost};
}

bool LayoutPlan::EveryReaderTakes(Endpoint tensor, const Layout& layout) const {
  return std::ranges::all_of(fanout_[tensor.node], [&](const NodeUse& use) {
    if (use.input < 0 || use.output != tensor.output || nodes_[use.node] == 0) return true;
    const Node& reader = graph_.node(use.node);
    if (once_[use.node] != 0) return false;
    if (ReadsShapeAlone(reader)) return true;
    const auto place = static_cast<size_t>(use.input);
    if (IsUpdate(reader)) return UpdateOf(use.node).inputs[place] == layout;
    std::vector<Layout> layouts = LayoutsRead(use.node);
    layouts[place] = layout;
    LayoutQuery query = QueryOf(use.node, layouts);
    const std::vector<TensorInfo> inputs = InputsOf(use.node);
    query.inputs = inputs;
    return std::ranges::any_of(LayoutChoices(query),
                               [&](const LayoutChoice& each) { return each.inputs[place] == layout; });
  });
}

}  // namespace lanescope
