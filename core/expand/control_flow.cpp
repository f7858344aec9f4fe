// SPDX-License-Identifier: Apache-2.0
#include "core/expand/control_flow.h"

#include <algorithm>
#include <utility>

#include "core/expand/control_flow_expander.h"

namespace lanescope {
namespace {

constexpr int kMaxLoops = 64;

bool IsReplaced(std::string_view op) {
  return IsLoop(op) || IsBranch(op) || IsListOp(op) || IsArrayOp(op) || IsSwitch(op) || IsMerge(op);
}

}  // namespace

Graph ControlFlowExpander::Run() {
  GraphBody whole(before_);
  NoteNeeded();
  Emit(whole, {}, {});
  return graph_.Take(before_);
}

void ControlFlowExpander::NoteNeeded() {
  needed_.assign(before_.num_nodes(), options_.needed.empty());
  std::vector<NodeId> open;
  const auto need = [&](NodeId node) {
    if (!node.exists() || needed_[node]) return;
    needed_[node] = true;
    open.push_back(node);
  };
  for (const std::string& tensor : options_.needed) {
    // A node that is not there yet may come of a loop: "while/trips" comes of "while".
    std::string name = tensor.substr(0, tensor.find(':'));
    while (!before_.FindNode(name).exists() && name.find('/') != std::string::npos)
      name.resize(name.rfind('/'));
    need(before_.FindNode(name));
  }
  while (!open.empty()) {
    const Node& node = before_.node(open.back());
    open.pop_back();
    for (const Endpoint& input : node.inputs) need(input.node);
    for (const NodeId control : node.control_inputs) need(control);
  }
}

void ControlFlowExpander::Keep(const GraphBody& body, NodeId id, Emitted* out) {
  Node copy = body.graph.node(id);
  out->dead[id] = IsDead(copy, *out);
  for (Endpoint& input : copy.inputs) {
    const ExpandedValue& value = out->at(input);
    if (!value.is_tensor()) out->dead[id] = true;
    input = value.tensor;
  }
  out->values[id].resize(static_cast<size_t>(body.types.Count(id)));
  if (out->dead[id]) return;
  copy.control_inputs = ControlsOf(body, body.graph.node(id), {}, *out);
  std::vector<DataType> types;
  for (int i = 0; i < body.types.Count(id); ++i) types.push_back(body.types.Of({id, i}));
  const NodeId added = graph_.Add(std::move(copy), &types);
  for (int i = 0; i < body.types.Count(id); ++i) out->values[id][static_cast<size_t>(i)].tensor = {added, i};
  out->after[id] = {added};
}

Emitted ControlFlowExpander::Emit(const GraphBody& body, const ExpandedValues& arguments, const Site& site) {
  Emitted out(body);
  for (size_t i = 0; i < arguments.size(); ++i) {
    out.values[body.arguments[i]] = {arguments[i]};
  }
  for (const NodeId id : body.order) {
    if (id == body.last || IsArgument(body, id)) continue;
    EmitNode(body, id, site, &out);
  }
  return out;
}

bool ControlFlowExpander::IsArgument(const GraphBody& body, NodeId id) {
  return id < NodeId(body.arguments.size());  // they come first
}

void ControlFlowExpander::EmitNode(const GraphBody& body, NodeId id, const Site& site, Emitted* out) {
  const Node& node = body.graph.node(id);
  for (const Endpoint& input : node.inputs) {
    const size_t count = out->values[input.node].size();
    if (input.output >= 0 && input.output < static_cast<int>(count)) continue;
    Throw(Code::kInvalidArgument, "node '{}': input '{}:{}' does not exist", node.name,
          body.graph.node(input.node).name, input.output);
  }
  if (site.prefix.empty() && !needed_[id]) return Keep(body, id, out);
  if (!IsMerge(node.op) && IsDead(node, *out)) {
    out->dead[id] = true;
    out->values[id].resize(static_cast<size_t>(body.types.Count(id)));
    return;
  }
  ExpandedValues inputs;
  for (const Endpoint& input : node.inputs) inputs.push_back(out->at(input));
  const std::string name = site.prefix.empty()
                               ? node.name
                               : graph_.FreeName(site.prefix + node.name.substr(kFunctionPrefix.size()));
  graph_.Release(name);
  std::vector<NodeId> controls = ControlsOf(body, node, site, *out);
  if (!IsMerge(node.op)) out->sides[id] = SidesOf(body, node, *out);
  if (IsReplaced(node.op) || HasLists(inputs)) {
    Replace(body, id, name, inputs, std::move(controls), out);
  } else {
    Copy(body, id, name, site, inputs, std::move(controls), out);
  }
}

std::vector<NodeId> ControlFlowExpander::ControlsOf(const GraphBody& body, const Node& node, const Site& site,
                                                    const Emitted& out) const {
  std::vector<NodeId> controls;
  bool first = true;
  for (const Endpoint& input : node.inputs) first = first && IsArgument(body, input.node);
  for (const NodeId control : node.control_inputs) {
    first = first && IsArgument(body, control);
    const std::vector<NodeId>& after = out.after[control];
    controls.insert(controls.end(), after.begin(), after.end());
  }
  if (first) controls.insert(controls.end(), site.controls.begin(), site.controls.end());
  std::ranges::sort(controls);
  controls.erase(std::ranges::unique(controls).begin(), controls.end());
  return controls;
}

void ControlFlowExpander::Copy(const GraphBody& body, NodeId id, const std::string& name, const Site& site,
                               const ExpandedValues& inputs, std::vector<NodeId> controls, Emitted* out) {
  Node copy = body.graph.node(id);
  const bool chosen = !taken_.empty() || !out->sides[id].empty();
  RenameGroups(site.prefix, &copy);
  copy.name = name;
  for (size_t i = 0; i < inputs.size(); ++i) copy.inputs[i] = inputs[i].tensor;
  copy.control_inputs = std::move(controls);
  if (chosen && copy.op == "Assert") AssertWhereTaken(name, out->sides[id], &copy);
  if (chosen) MaskUpdate(name, out->sides[id], &copy);
  const NodeId added = AddCopy(body, id, std::move(copy));
  for (int i = 0; i < graph_.NumOutputs(added); ++i) {
    out->values[id].push_back({.tensor = {added, i}});
  }
  out->after[id] = {added};
}

NodeId ControlFlowExpander::AddCopy(const GraphBody& body, NodeId id, Node copy) {
  if (!body.graph.problems.contains(id) && OpRegistry::Global().Find(copy.op) != nullptr) {
    const NodeId added = graph_.Add(std::move(copy));
    for (const auto& [tensor, info] : options_.feeds) Feed(tensor, info, added);
    return added;
  }
  std::vector<DataType> types;
  for (int i = 0; i < body.types.Count(id); ++i) types.push_back(body.types.Of({id, i}));
  return graph_.Add(std::move(copy), &types);
}

void ControlFlowExpander::Feed(const std::string& tensor, const TensorInfo& info, NodeId node) {
  const std::string& name = graph_.graph().node(node).name;
  if (!tensor.starts_with(name)) return;
  const std::string_view rest = std::string_view(tensor).substr(name.size());
  if ((rest.empty() || rest == ":0") && graph_.NumOutputs(node) > 0) graph_.SetShape({node, 0}, info.shape);
}

void ControlFlowExpander::AssertWhereTaken(const std::string& name, const Sides& own, Node* assertion) {
  const std::optional<Endpoint> taken = WhetherTaken(own, name, assertion->device);
  if (!taken || assertion->inputs.empty()) return;
  const Endpoint not_taken =
      graph_.Add(graph_.New("LogicalNot", name + "/elsewhere", assertion->device).Input(*taken));
  assertion->inputs[0] = graph_.Add(graph_.New("LogicalOr", name + "/holds", assertion->device)
                                        .Input(assertion->inputs[0])
                                        .Input(not_taken));
}

void ControlFlowExpander::RenameGroups(const std::string& prefix, Node* node) {
  const auto found = node->attrs.find("_class");
  if (found == node->attrs.end() || prefix.empty()) return;
  auto* groups = std::get_if<std::vector<std::string>>(&found->second);
  if (groups == nullptr) return;
  constexpr std::string_view kGroup = "loc:@f/";
  for (std::string& group : *groups) {
    if (group.starts_with(kGroup)) group = "loc:@" + prefix + group.substr(kGroup.size());
  }
}

void ControlFlowExpander::Replace(const GraphBody& body, NodeId id, const std::string& name,
                                  const ExpandedValues& inputs, std::vector<NodeId> controls, Emitted* out) {
  const Node& node = body.graph.node(id);
  ExpandedValues& values = out->values[id];
  if (IsLoop(node.op) || IsBranch(node.op)) {
    if (++nesting_ > kMaxLoops)
      Throw(Code::kInvalidArgument, "node '{}': loops are nested more than {} deep", name, kMaxLoops);
    std::vector<NodeId> effects;
    const size_t around = taken_.size();
    taken_.insert(taken_.end(), out->sides[id].begin(), out->sides[id].end());
    values = IsLoop(node.op) ? Unroll(node, name, inputs, controls, &effects)
                             : Branch(node, name, inputs, controls, &effects);
    LeaveConditions(around);
    --nesting_;
    // A node that waits for it waits for its effects, too: an output that is constant is never computed.
    out->after[id] = effects;
    out->after[id].push_back(Finish(node, name, values, effects.empty() ? controls : effects));
  } else if (IsSwitch(node.op)) {
    values = Switch(name, inputs, &out->conditions[id]);
    out->after[id] = std::move(controls);
  } else if (IsMerge(node.op)) {
    values = Merge(node, name, body, out, &out->sides[id]);
    out->dead[id] = values[0].empty();
    if (values[0].is_tensor()) controls.push_back(values[0].tensor.node);
    out->after[id] = std::move(controls);
  } else {
    std::optional<Endpoint> taken;
    if (ChangesArray(node.op)) taken = WhetherTaken(out->sides[id], name, node.device);
    ExpandedValues here = inputs;
    for (ExpandedValue& input : here) input = OnThisSide(input, out->sides[id]);
    values = IsArrayOp(node.op) ? arrays_.Expand(node, name, here, taken) : lists_.Expand(node, name, here);
    AddWaits(node, name, inputs, *out, &controls);
    out->after[id] = std::move(controls);
  }
  if (!body.graph.problems.contains(id)) CheckTypes(body, id, name, values);
}

void ControlFlowExpander::AddWaits(const Node& node, const std::string& name, const ExpandedValues& inputs,
                                   const Emitted& out, std::vector<NodeId>* controls) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_tensor()) {
      controls->push_back(inputs[i].tensor.node);
      continue;
    }
    const std::vector<NodeId>& after = out.after[node.inputs[i].node];
    controls->insert(controls->end(), after.begin(), after.end());
  }
  std::ranges::sort(*controls);
  controls->erase(std::ranges::unique(*controls).begin(), controls->end());
  if (controls->size() > 8) *controls = {Wait(name + "/wait", node.device, *controls)};
}

NodeId ControlFlowExpander::Wait(const std::string& name, const std::string& device,
                                 const std::vector<NodeId>& controls) {
  Node wait = graph_.New("NoOp", name, device).Finish();
  wait.control_inputs = controls;
  return graph_.Add(std::move(wait));
}

void ControlFlowExpander::CheckTypes(const GraphBody& body, NodeId id, const std::string& name,
                                     const ExpandedValues& values) const {
  for (int i = 0; i < body.types.Count(id); ++i) {
    if (i >= static_cast<int>(values.size())) {
      Throw(Code::kInvalidArgument, "node '{}' has {} outputs, and its function {}", name,
            body.types.Count(id), values.size());
    }
    if (!values[static_cast<size_t>(i)].empty())
      CheckType(name, values[static_cast<size_t>(i)], body.types.Of({id, i}));
  }
}

DataType ControlFlowExpander::TypeOf(const ExpandedValue& value) const {
  if (value.array != nullptr) return DataType::kResource;
  return value.is_tensor() ? graph_.info(value.tensor).dtype : DataType::kVariant;
}

void ControlFlowExpander::CheckType(const std::string& name, const ExpandedValue& value,
                                    DataType wanted) const {
  if (TypeOf(value) == RemoveRef(wanted)) return;
  Throw(Code::kInvalidArgument, "node '{}' has a {} where it says {}", name, DataTypeName(TypeOf(value)),
        DataTypeName(RemoveRef(wanted)));
}

bool HasControlFlow(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return IsReplaced(node.op); });
}

Graph ExpandControlFlow(const Graph& graph, FunctionGraphs* functions, const InlineOptions& options) {
  return ControlFlowExpander(graph, functions, options).Run();
}

}  // namespace lanescope
