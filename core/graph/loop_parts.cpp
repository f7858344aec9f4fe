// SPDX-License-Identifier: Apache-2.0
#include "core/graph/loop_parts.h"

#include <charconv>

#include "core/base/error.h"

namespace lanescope {
namespace {

bool IsMachinery(const tf::NodeDef& node) {
  return IsEnter(node) || node.op() == "NextIteration" || node.op() == "LoopCond" || node.op() == "Exit";
}

}  // namespace

LoopSource LoopSourceOf(std::string_view input) {
  if (input.starts_with('^')) return {input.substr(1), -1};
  const size_t colon = input.rfind(':');
  if (colon == std::string_view::npos) return {input, 0};
  int output = 0;
  const auto [end, error] = std::from_chars(input.data() + colon + 1, input.data() + input.size(), output);
  if (error != std::errc() || end != input.data() + input.size() || output < 0) return {input, 0};
  return {input.substr(0, colon), output};
}

void RefuseLoop(const tf::NodeDef& node, std::string_view why) {
  Throw(Code::kUnimplemented, "node '{}' ({}): a loop {}, which is not supported", node.name(), node.op(),
        why);
}

NodeIndex::NodeIndex(const tf::GraphDef& graph) {
  for (const tf::NodeDef& node : graph.node()) nodes[node.name()] = &node;
  for (const tf::NodeDef& node : graph.node()) {
    for (const std::string& input : node.input()) users[LoopSourceOf(input).node].push_back(&node);
  }
}

const tf::NodeDef* NodeIndex::Find(std::string_view name) const {
  const auto found = nodes.find(name);
  return found == nodes.end() ? nullptr : found->second;
}

const std::vector<const tf::NodeDef*>& NodeIndex::UsersOf(const tf::NodeDef& node) const {
  static const std::vector<const tf::NodeDef*> kNone;
  const auto found = users.find(node.name());
  return found == users.end() ? kNone : found->second;
}

LoopParts::LoopParts(const NodeIndex& index, const std::vector<const tf::NodeDef*>& enters) : index_(index) {
  std::vector<const tf::NodeDef*> open(enters);
  inside_.insert(enters.begin(), enters.end());
  while (!open.empty()) {
    const tf::NodeDef* node = open.back();
    open.pop_back();
    if (node->op() == "Exit") continue;
    for (const tf::NodeDef* user : index.UsersOf(*node)) {
      if (inside_.insert(user).second) open.push_back(user);
    }
  }
  for (const tf::NodeDef* enter : enters) NoteEnter(*enter);
}

bool LoopParts::HasLoop(const std::vector<const tf::NodeDef*>& enters) const {
  return std::ranges::any_of(inside_, [&](const tf::NodeDef* node) {
    return IsEnter(*node) && std::ranges::find(enters, node) == enters.end();
  });
}

bool LoopParts::IsPart(const tf::NodeDef& node) const {
  return IsMachinery(node) || variable_of_.contains(&node) || passed_.contains(&node);
}

void LoopParts::NoteEnter(const tf::NodeDef& enter) {
  Variable variable{&enter};
  for (const tf::NodeDef* user : index_.UsersOf(enter)) {
    if (user->op() != "Merge" || user->input_size() < 2) continue;
    const tf::NodeDef* next = index_.Find(LoopSourceOf(user->input(1)).node);
    if (next == nullptr || next->op() != "NextIteration") continue;
    if (variable.merge != nullptr) RefuseLoop(enter, "with a variable that is begun twice");
    variable.merge = user;
    variable.next = next;
  }
  variables_.push_back(variable);
}

void LoopParts::NoteSwitch(const tf::NodeDef& node) {
  const tf::NodeDef* merge = index_.Find(LoopSourceOf(node.input(0)).node);
  const auto found = variable_of_.find(merge);
  if (found == variable_of_.end()) RefuseLoop(node, "with a Switch that is no variable's");
  variable_of_[&node] = found->second;
  for (const tf::NodeDef* user : index_.UsersOf(node)) {
    for (const std::string& input : user->input()) {
      const LoopSource source = LoopSourceOf(input);
      if (source.node != node.name() || source.output != 0) continue;
      NoteLastValue(*user, &variables_[static_cast<size_t>(found->second)]);
    }
  }
}

void LoopParts::NoteLastValue(const tf::NodeDef& user, Variable* variable) {
  if (user.op() == "Exit") return variable->exits.push_back(&user);
  const auto& users = index_.UsersOf(user);
  if (user.op() != "Identity" || users.empty() || !passed_.insert(&user).second)
    RefuseLoop(user, "whose last value is used inside it");
  for (const tf::NodeDef* next : users) NoteLastValue(*next, variable);
}

void LoopParts::TakeApart() {
  // Variables come before constants.
  std::stable_partition(variables_.begin(), variables_.end(),
                        [](const Variable& v) { return v.merge != nullptr; });
  for (size_t i = 0; i < variables_.size(); ++i) {
    const Variable& variable = variables_[i];
    if (variable.enter->input_size() == 0) RefuseLoop(*variable.enter, "with an Enter of nothing");
    if (variable.merge == nullptr) continue;
    if (variable.next->input_size() == 0) RefuseLoop(*variable.next, "with a next value of nothing");
    variable_of_[variable.merge] = static_cast<int>(i);
  }
  for (const tf::NodeDef* node : inside_) {
    if (node->op() != "LoopCond") continue;
    if (condition_ != nullptr) RefuseLoop(*node, "with two conditions");
    condition_ = node;
  }
  if (condition_ == nullptr || condition_->input_size() == 0)
    RefuseLoop(*variables_.front().enter, "without a condition");
  for (const tf::NodeDef* node : index_.UsersOf(*condition_)) {
    if (node->op() != "Switch" || node->input_size() < 2) {
      if (std::ranges::find(node->input(), "^" + condition_->name()) != node->input().end()) continue;
      RefuseLoop(*node, "whose condition is used for more than its variables");
    }
    NoteSwitch(*node);
  }
}

int LoopParts::VariableAt(const LoopSource& source) const {
  const tf::NodeDef* node = index_.Find(source.node);
  if (node == nullptr) return -1;
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].enter == node && variables_[i].merge == nullptr) return static_cast<int>(i);
  }
  const auto found = variable_of_.find(node);
  if (found == variable_of_.end()) return -1;
  if (source.output == (node->op() == "Merge" ? 0 : 1)) return found->second;
  RefuseLoop(*node, "that asks which way its variables came");
}

NodeSet LoopParts::MadeOf(const std::vector<const tf::NodeDef*>& wanted) const {
  NodeSet made;
  std::vector<const tf::NodeDef*> open;
  const auto take = [&](const tf::NodeDef* node) {
    if (node == nullptr || !inside_.contains(node) || IsPart(*node)) return;
    if (made.insert(node).second) open.push_back(node);
  };
  for (const tf::NodeDef* node : wanted) take(node);
  while (!open.empty()) {
    const tf::NodeDef* node = open.back();
    open.pop_back();
    for (const std::string& input : node->input()) take(index_.Find(LoopSourceOf(input).node));
  }
  return made;
}

NodeSet LoopParts::BodyNodes() const {
  std::vector<const tf::NodeDef*> wanted;
  for (const Variable& variable : variables_) {
    if (variable.next == nullptr) continue;
    for (const std::string& input : variable.next->input())
      wanted.push_back(index_.Find(LoopSourceOf(input).node));
  }
  NodeSet seen;
  std::vector<const tf::NodeDef*> open;
  for (const auto& [node, variable] : variable_of_) {
    if (node->op() == "Switch") open.push_back(node);
  }
  while (!open.empty()) {
    const tf::NodeDef* node = open.back();
    open.pop_back();
    for (const tf::NodeDef* user : index_.UsersOf(*node)) {
      if (IsPart(*user) || !seen.insert(user).second) continue;
      open.push_back(user);
      wanted.push_back(user);
    }
  }
  return MadeOf(wanted);
}

}  // namespace lanescope
