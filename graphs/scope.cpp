// SPDX-License-Identifier: Apache-2.0
#include "graphs/scope.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/graph_builder.h"
#include "core/graph/infer_node.h"
#include "core/graph/op.h"

namespace lanescope::graphs {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

constexpr const char* kGroupPrefix = "loc:@";

}  // namespace

ScopeGuard::~ScopeGuard() {
  if (scope_ != nullptr) scope_->CloseBroken(id_);
}

void ScopeGuard::Exit() {
  if (scope_ == nullptr) return;
  scope_->Close(id_);
  scope_ = nullptr;
}

Scope::Scope() = default;

Scope::Scope(Graph graph) : graph_(std::move(graph)) {
  const GraphInfo info = InferGraph(graph_, {});
  for (const NodeId id : graph_.node_ids()) {
    const auto outputs = info.outputs(id);
    infos_.Add({outputs.begin(), outputs.end()});
    MarkUsed(graph_.node(id).name);
  }
  FindVariables();
}

Graph Scope::Take() {
  infos_.clear();
  names_in_use_.clear();
  variables_.clear();
  variable_order_.clear();
  shared_variables_.clear();
  return std::exchange(graph_, Graph());
}

ScopeGuard Scope::Open(const char* kind, State next) {
  frames_.push_back({next_id_, kind, std::exchange(state_, std::move(next))});
  return {this, next_id_++};
}

void Scope::Close(int id) {
  if (frames_.back().id != id) {
    const auto frame = std::ranges::find(frames_, id, &Frame::id);
    Throw(Code::kFailedPrecondition, "Exiting {} scope without proper scope nesting.", frame->kind);
  }
  state_ = std::move(frames_.back().before);
  frames_.pop_back();
}

// Out of order, what the scope changed is gone with the outermost scope that was closed too early.
void Scope::CloseBroken(int id) noexcept {
  if (frames_.back().id == id) {
    state_ = std::move(frames_.back().before);
    frames_.pop_back();
    return;
  }
  const auto frame = std::ranges::find(frames_, id, &Frame::id);
  nesting_problem_ = frame->kind;
  std::next(frame)->before = std::move(frame->before);
  frames_.erase(frame);
}

void Scope::CheckNesting() const {
  if (nesting_problem_.empty()) return;
  Throw(Code::kFailedPrecondition, "Exiting {} scope without proper scope nesting.", nesting_problem_);
}

ScopeGuard Scope::Device(const DeviceSpec& spec) {
  State next = state_;
  if (!spec.empty()) next.devices.push_back({spec, nullptr});
  return Open("device", std::move(next));
}

ScopeGuard Scope::Device(DeviceFunction function) {
  State next = state_;
  next.devices.push_back({std::nullopt, std::move(function)});
  return Open("device", std::move(next));
}

ScopeGuard Scope::NoDevice() {
  State next = state_;
  next.devices.push_back({});
  return Open("device", std::move(next));
}

std::string Scope::NamesBelow(std::string_view name) {
  if (name.empty()) return "";
  const bool absolute = name.ends_with('/');
  const std::string_view bare = absolute ? name.substr(0, name.size() - 1) : name;
  // Below another name, a name may begin with any of a name's characters.
  if (!IsValidNodeName(absolute ? std::string(bare) : state_.names + std::string(bare))) {
    Throw(Code::kInvalidArgument, "'{}' is not a valid scope name", name);
  }
  return absolute ? std::string(name) : UniqueName(name) + "/";
}

ScopeGuard Scope::Name(std::string_view name) {
  State next = state_;
  next.names = NamesBelow(name);
  return Open("name", std::move(next));
}

ScopeGuard Scope::VariableScope(std::string_view name, Reuse reuse) {
  State next = state_;
  // As in TensorFlow an empty name opens no name scope, and at the root none of variables.
  if (!name.empty()) next.names = NamesBelow(name);
  if (!name.empty() || !state_.variables.name.empty()) next.variables.name += std::string(name) + "/";
  if (reuse != Reuse::kInherit) next.variables.reuse = reuse;
  return Open("variable", std::move(next));
}

ScopeGuard Scope::ReuseVariables(bool reuse) {
  State next = state_;
  if (reuse) next.variables.reuse = Reuse::kYes;
  return Open("variable", std::move(next));
}

ScopeGuard Scope::Replica(int replica) {
  State next = state_;
  next.variables.replica = replica;
  return Open("replica", std::move(next));
}

ScopeGuard Scope::ColocateWith(Endpoint op, bool ignore_existing) {
  State next = state_;
  next.devices.clear();
  if (ignore_existing) next.colocation.clear();
  next.colocation.push_back(op.node);
  return Open("colocation", std::move(next));
}

ScopeGuard Scope::NoColocation() {
  State next = state_;
  next.devices.clear();
  next.colocation.clear();
  return Open("colocation", std::move(next));
}

ScopeGuard Scope::ControlDependencies(const std::vector<Endpoint>& ops) {
  State next = state_;
  auto controller = std::make_shared<Controller>();
  std::set<NodeId> known;
  for (const auto& outer : state_.controllers) known.insert(outer->sources.begin(), outer->sources.end());
  for (const Endpoint& op : ops) {
    if (known.insert(op.node).second) controller->sources.push_back(op.node);
  }
  next.controllers.push_back(std::move(controller));
  return Open("control dependency", std::move(next));
}

ScopeGuard Scope::NoControlDependencies() {
  State next = state_;
  next.controllers.clear();
  return Open("control dependency", std::move(next));
}

std::string Scope::UniqueName(std::string_view name) {
  std::string full = state_.names + std::string(name);
  const std::string key = LowerCase(full);
  int& used = names_in_use_[key];
  int number = used++;
  if (number == 0) return full;
  std::string numbered = key;
  while (names_in_use_.contains(numbered)) numbered = key + "_" + std::to_string(number++);
  names_in_use_[numbered] = 1;
  return full + "_" + std::to_string(number - 1);
}

void Scope::MarkUsed(std::string_view name) { names_in_use_.try_emplace(LowerCase(name), 1); }

const TensorInfo& Scope::Info(Endpoint output) const {
  if (!graph_.Contains(output.node)) {
    Throw(Code::kInvalidArgument, "node number {} is not in the graph", output.node.number());
  }
  const auto& outputs = infos_[output.node];
  if (output.output < 0 || output.output >= static_cast<int>(outputs.size())) {
    Throw(Code::kInvalidArgument, "node '{}' has {} outputs, none with number {}",
          graph_.node(output.node).name, outputs.size(), output.output);
  }
  return outputs[static_cast<size_t>(output.output)];
}

std::vector<Endpoint> Scope::Outputs(Endpoint node) const {
  std::vector<Endpoint> outputs;
  for (size_t i = 0; i < infos_[node.node].size(); ++i) {
    outputs.push_back({node.node, static_cast<int>(i)});
  }
  return outputs;
}

std::vector<std::vector<Endpoint>> Scope::OutputLists(Endpoint endpoint) const {
  const Node& node = graph_.node(endpoint.node);
  OpDef of_one_result = *OpRegistry::Global().Find(node.op);
  std::vector<std::vector<Endpoint>> lists;
  int next = 0;
  for (const ArgDef& result : OpRegistry::Global().Find(node.op)->outputs) {
    of_one_result.outputs = {result};
    std::vector<Endpoint>& list = lists.emplace_back();
    for (size_t count = OutputTypes(node, &of_one_result).size(); list.size() < count; ++next)
      list.push_back({endpoint.node, next});
  }
  return lists;
}

void Scope::MergeShape(Endpoint output, const lanescope::Shape& shape) {
  TensorInfo& info = infos_[output.node][static_cast<size_t>(output.output)];
  info.shape = MergeShapes(info.shape, shape);
}

// The innermost scope speaks first.
std::string Scope::DeviceOf(Node node) const {
  for (auto scope = state_.devices.rbegin(); scope != state_.devices.rend(); ++scope) {
    if (scope->spec) {
      node.device = scope->spec->MergedWith(DeviceSpec::Parse(node.device)).ToString();
    } else if (scope->function) {
      node.device = scope->function(node);
    } else {
      break;
    }
  }
  return node.device;
}

std::vector<NodeId> Scope::ControlsFor(const Node& node) const {
  std::vector<NodeId> controls;
  const auto is_input = [&](NodeId id) {
    return std::ranges::any_of(node.inputs, [id](const Endpoint& input) { return input.node == id; });
  };
  for (const auto& controller : state_.controllers) {
    const bool waits_already = std::ranges::any_of(
        node.inputs, [&](const Endpoint& input) { return controller->members.contains(input.node); });
    if (waits_already) continue;
    for (const NodeId source : controller->sources) {
      if (!is_input(source)) controls.push_back(source);
    }
  }
  return controls;
}

std::vector<std::string> Scope::GroupsOf(NodeId node) const {
  std::vector<std::string> groups;
  const Node& of = graph_.node(node);
  if (of.FindAttr("_class") != nullptr) {
    for (const std::string& entry : of.StringListAttr("_class")) {
      if (entry.starts_with(kGroupPrefix)) groups.push_back(entry);
    }
  }
  if (groups.empty()) groups.push_back(kGroupPrefix + of.name);
  return groups;
}

void Scope::Colocate(Node* node) const {
  if (state_.colocation.empty()) {
    if (!state_.groups.empty()) node->attrs.insert_or_assign("_class", state_.groups);
    return;
  }
  std::set<std::string> groups;
  bool has_device = false;
  for (auto id = state_.colocation.rbegin(); id != state_.colocation.rend(); ++id) {
    for (std::string& group : GroupsOf(*id)) groups.insert(std::move(group));
    const std::string& device = graph_.node(*id).device;
    if (!device.empty() && !has_device) {
      node->device = device;
      has_device = true;
    }
  }
  node->attrs.insert_or_assign("_class", std::vector<std::string>(groups.begin(), groups.end()));
}

}  // namespace lanescope::graphs
