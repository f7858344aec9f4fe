// SPDX-License-Identifier: Apache-2.0
#include "core/graph/raised_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/graph/loop_parts.h"
#include "core/graph/op.h"
#include "core/graph/recorded_signatures.h"

namespace lanescope {
namespace {

constexpr int kMaxRaisedLoops = 1024;  // each is looked for in the whole graph

std::string FrameOf(const tf::NodeDef& enter) {
  const auto found = enter.attr().find("frame_name");
  return found == enter.attr().end() ? "" : found->second.s();
}

tf::DataType TypeOf(const tf::NodeDef& node) {
  const auto found = node.attr().find("T");
  if (found == node.attr().end()) RefuseLoop(node, "with a node without a type");
  return found->second.type();
}

// The name of an op's flat output as functions write it: "ARGUMENT:NUMBER".
std::string NamedOutput(const tf::NodeDef& node, int output) {
  const OpDef* def = OpRegistry::Global().Find(node.op());
  if (def == nullptr) def = RecordedSignature(node.op());
  if (def == nullptr) RefuseLoop(node, "with an op that is not known");
  int64_t first = 0;
  for (const ArgDef& arg : def->outputs) {
    int64_t count = 1;
    if (const std::string& attr = arg.number_attr + arg.type_list_attr; !attr.empty()) {
      const auto found = node.attr().find(attr);
      if (found == node.attr().end()) break;
      count = arg.number_attr.empty() ? found->second.list().type_size() : found->second.i();
    }
    if (output < first + count) return arg.name + ":" + std::to_string(output - first);
    first += count;
  }
  Throw(Code::kInvalidArgument, "node '{}' ({}) has no output {}", node.name(), node.op(), output);
}

// Writes the functions of one loop and the node that takes its place.
class LoopWriter {
 public:
  LoopWriter(const NodeIndex& index, const LoopParts& parts, std::string name)
      : index_(index), parts_(parts), name_(std::move(name)) {}

  tf::FunctionDef Condition() const {
    const tf::NodeDef& condition = parts_.condition();
    tf::FunctionDef function = Begin("cond");
    const NodeSet nodes = parts_.MadeOf({index_.Find(LoopSourceOf(condition.input(0)).node)});
    AddNodes(nodes, &function);
    AddOutput(0, tf::DT_BOOL, Renamed(condition.input(0)), &function);
    return function;
  }

  tf::FunctionDef Body() const {
    tf::FunctionDef function = Begin("body");
    const NodeSet nodes = parts_.BodyNodes();
    AddNodes(nodes, &function);
    for (size_t i = 0; i < parts_.variables().size(); ++i) {
      const LoopParts::Variable& variable = parts_.variables()[i];
      AddOutput(static_cast<int>(i), TypeOf(*variable.enter),
                variable.next == nullptr ? Argument(static_cast<int>(i)) : Renamed(variable.next->input(0)),
                &function);
    }
    for (const tf::NodeDef& node : function.node_def()) {
      const std::string whole = Whole(node.name());
      const auto users = index_.users.find(whole);
      const bool used =
          users != index_.users.end() &&
          std::ranges::any_of(users->second, [&](const auto* user) { return nodes.contains(user); });
      if (!used) (*function.mutable_control_ret())[node.name()] = node.name();
    }
    for (const auto& [output, node] : function.control_ret())
      function.mutable_signature()->add_control_output(output);
    return function;
  }

  tf::NodeDef Node() const {
    tf::NodeDef node;
    node.set_name(name_);
    node.set_op("While");
    std::set<std::string> controls;
    auto* types = (*node.mutable_attr())["T"].mutable_list();
    for (const LoopParts::Variable& variable : parts_.variables()) {
      node.add_input(variable.enter->input(0));
      types->add_type(TypeOf(*variable.enter));
      for (int i = 1; i < variable.enter->input_size(); ++i) {
        if (variable.enter->input(i).starts_with('^')) controls.insert(variable.enter->input(i));
      }
    }
    for (const std::string& control : controls) node.add_input(control);
    for (const char* function : {"cond", "body"}) {
      (*node.mutable_attr())[function].mutable_func()->set_name(FunctionName(function));
    }
    return node;
  }

  // In place of an Exit.
  tf::NodeDef Result(const tf::NodeDef& exit, int variable) const {
    tf::NodeDef node = exit;
    node.set_op("Identity");
    node.set_input(0, variable == 0 ? name_ : name_ + ":" + std::to_string(variable));
    return node;
  }

 private:
  std::string FunctionName(std::string_view what) const {
    std::string name = name_ + "_" + std::string(what);
    std::ranges::replace(name, '/', '_');
    return name;
  }
  // Not the name of any node.
  std::string Argument(int variable) const {
    std::string name = "variable_" + std::to_string(variable);
    while (index_.Find(name) != nullptr) name += "_of_loop";
    return name;
  }

  // Names inside the functions are the loop's without its own name before them.
  std::string Short(std::string_view node) const {
    const std::string before = name_ + "/";
    if (node.size() > before.size() && node.starts_with(before)) {
      const std::string_view rest = node.substr(before.size());
      if (index_.Find(rest) == nullptr) return std::string(rest);
    }
    return std::string(node);
  }
  std::string Whole(const std::string& node) const {
    return index_.Find(node) != nullptr ? node : name_ + "/" + node;
  }

  std::string Renamed(std::string_view input) const {
    const LoopSource source = LoopSourceOf(input);
    const int variable = parts_.VariableAt(source);
    if (variable >= 0) return Argument(variable);
    const tf::NodeDef* node = index_.Find(source.node);
    if (node == nullptr) Throw(Code::kInvalidArgument, "'{}' is taken in a loop, but is not there", input);
    if (!parts_.inside().contains(node))
      RefuseLoop(*node, "that takes a tensor from outside without an Enter");
    return Short(source.node) + ":" + NamedOutput(*node, source.output);
  }

  tf::FunctionDef Begin(std::string_view what) const {
    tf::FunctionDef function;
    function.mutable_signature()->set_name(FunctionName(what));
    for (size_t i = 0; i < parts_.variables().size(); ++i) {
      tf::OpDef::ArgDef* arg = function.mutable_signature()->add_input_arg();
      arg->set_name(Argument(static_cast<int>(i)));
      arg->set_type(TypeOf(*parts_.variables()[i].enter));
    }
    return function;
  }

  static void AddOutput(int number, tf::DataType type, const std::string& value, tf::FunctionDef* function) {
    tf::OpDef::ArgDef* arg = function->mutable_signature()->add_output_arg();
    arg->set_name("output_" + std::to_string(number));
    arg->set_type(type);
    (*function->mutable_ret())[arg->name()] = value;
  }

  // In the order of their names, so that it does not depend on where they lie in memory.
  void AddNodes(const NodeSet& nodes, tf::FunctionDef* function) const {
    std::map<std::string_view, const tf::NodeDef*> sorted;
    for (const tf::NodeDef* node : nodes) sorted[node->name()] = node;
    for (const auto& [name, node] : sorted) {
      tf::NodeDef* copy = function->add_node_def();
      *copy = *node;
      copy->set_name(Short(name));
      copy->clear_input();
      for (const std::string& input : node->input()) {
        const LoopSource source = LoopSourceOf(input);
        if (source.output >= 0) {
          copy->add_input(Renamed(input));
        } else if (const tf::NodeDef* waited = index_.Find(source.node); nodes.contains(waited)) {
          copy->add_input("^" + Short(source.node));
        }
      }
      KeepGroups(nodes, copy);
    }
  }

  // Groups of the function's own nodes; others are not there in it.
  void KeepGroups(const NodeSet& nodes, tf::NodeDef* node) const {
    const auto found = node->mutable_attr()->find("_class");
    if (found == node->mutable_attr()->end()) return;
    constexpr std::string_view kGroup = "loc:@";
    std::vector<std::string> kept;
    for (const std::string& group : found->second.list().s()) {
      if (!group.starts_with(kGroup)) continue;
      const std::string_view of = std::string_view(group).substr(kGroup.size());
      if (nodes.contains(index_.Find(of))) kept.push_back("loc:@" + Short(of));
    }
    node->mutable_attr()->erase("_class");
    if (kept.empty()) return;
    for (std::string& group : kept) (*node->mutable_attr())["_class"].mutable_list()->add_s(std::move(group));
  }

  const NodeIndex& index_;
  const LoopParts& parts_;
  const std::string name_;
};

// "while" of the frame "while/while_context".
std::string LoopName(const NodeIndex& index, const std::string& frame) {
  std::string name = frame;
  for (const std::string_view end : {"/while_context", "/"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  }
  if (name.empty()) name = "while";
  std::string free = name;
  for (int i = 1; index.Find(free) != nullptr; ++i) free = name + "_" + std::to_string(i);
  return free;
}

void Replace(const NodeIndex& index, const LoopParts& parts, const std::string& frame, tf::GraphDef* graph) {
  const LoopWriter writer(index, parts, LoopName(index, frame));
  std::unordered_map<const tf::NodeDef*, int> exits;
  for (size_t i = 0; i < parts.variables().size(); ++i) {
    for (const tf::NodeDef* exit : parts.variables()[i].exits) exits[exit] = static_cast<int>(i);
  }
  tf::GraphDef after;
  const tf::NodeDef loop = writer.Node();
  tf::FunctionDef condition = writer.Condition(), body = writer.Body();
  bool written = false;
  for (const tf::NodeDef& node : graph->node()) {
    const auto exit = exits.find(&node);
    if (!parts.inside().contains(&node)) {
      *after.add_node() = node;
      continue;
    }
    if (!written) *after.add_node() = loop;
    written = true;
    if (exit != exits.end()) *after.add_node() = writer.Result(node, exit->second);
  }
  graph->mutable_node()->Swap(after.mutable_node());
  *graph->mutable_library()->add_function() = std::move(condition);
  *graph->mutable_library()->add_function() = std::move(body);
}

// Raises a loop that has none in it; false: there is no loop left.
bool RaiseOne(tf::GraphDef* graph) {
  const NodeIndex index(*graph);
  std::map<std::string, std::vector<const tf::NodeDef*>> frames;
  for (const tf::NodeDef& node : graph->node()) {
    if (node.op() == "RefEnter") RefuseLoop(node, "over a reference variable");
    if (IsEnter(node)) frames[FrameOf(node)].push_back(&node);
  }
  if (frames.empty()) return false;
  for (const auto& [frame, enters] : frames) {
    LoopParts parts(index, enters);
    if (parts.HasLoop(enters)) continue;
    parts.TakeApart();
    Replace(index, parts, frame, graph);
    return true;
  }
  RefuseLoop(*frames.begin()->second.front(), "that lies in itself");
}

}  // namespace

void RaiseLoops(tf::GraphDef* graph) {
  for (int raised = 0; RaiseOne(graph); ++raised) {
    if (raised >= kMaxRaisedLoops)
      Throw(Code::kInvalidArgument, "the graph has more than {} loops", kMaxRaisedLoops);
  }
}

}  // namespace lanescope
