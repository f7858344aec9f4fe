// SPDX-License-Identifier: Apache-2.0
// Checks a schedule from scratch. Shares nothing with the compiler's passes: order is decided by exact
// reachability over the commands' dependencies and the in-order queues.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/schedule/fused_check.h"
#include "core/schedule/memory_check.h"
#include "core/schedule/order_claims.h"
#include "core/schedule/run_order.h"

namespace lanescope {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, const Schedule& schedule) : graph_(graph), schedule_(schedule) {}

  void Run() {
    CheckOrder();
    CheckOperands();
    CheckFused(graph_, schedule_);
    CheckDependencies();
    CheckCopies();
    CheckVariables();
    CheckMemory(graph_, schedule_, &claims_);
    claims_.Check(predecessors_, [this](const char* law, CommandId before, CommandId after) {
      Broken(fmt::format("{}: {} is not before {}", law, Describe(before), Describe(after)));
    });
  }

 private:
  const Value& value(ValueId v) const { return schedule_.values[v]; }
  std::string Describe(CommandId c) const {
    const Command& command = schedule_.commands[c];
    return fmt::format("#{} {} '{}'", c.number(), CommandKindName(command.kind),
                       command.node.exists() ? graph_.node(command.node).name : "");
  }
  [[noreturn]] void Broken(const std::string& what) const {
    Throw(Code::kInternal, "schedule is wrong: {}", what);
  }

  // The listing is a topological order, and predecessors are counted right.
  void CheckOrder() {
    IdVector<CommandId, int> count(schedule_.commands.size(), 0);
    predecessors_.resize(schedule_.commands.size());
    for (const CommandId c : schedule_.commands.ids()) {
      for (const CommandId next : schedule_.Successors(c)) {
        if (next <= c || !schedule_.commands.Contains(next))
          Broken(fmt::format("{} precedes {} against the listing", Describe(c), next.number()));
        ++count[next];
        predecessors_[next].push_back(c);
      }
    }
    if (count != schedule_.num_predecessors) Broken("the predecessor counts do not match the dependencies");
    std::map<QueueId, CommandId> last_in_queue;
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      if (!RunsByRank(schedule_.queues, command.queue)) continue;
      const auto [last, first] = last_in_queue.try_emplace(command.queue, c);
      if (!first) {
        if (schedule_.commands[last->second].rank >= command.rank)
          Broken(Describe(c) + " is out of its queue's order");
        predecessors_[c].push_back(last->second);
        last->second = c;
      }
    }
  }

  // Every operand is the tensor that the graph says, in a memory that the device can reach.
  void CheckOperands() {
    producer_.assign(schedule_.values.size(), {});
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      for (const ValueId output : schedule_.Outputs(command)) {
        auto& producer = producer_[output];
        if (producer.exists())
          Broken(fmt::format("{} and {} write the same value", Describe(producer), Describe(c)));
        producer = c;
      }
      if (command.kind != CommandKind::kLaunch || command.num_inputs == 0 || command.fused >= 0) continue;
      const Node& node = graph_.node(command.node);
      if (static_cast<size_t>(command.num_inputs) != node.inputs.size())
        Broken(Describe(c) + " has a wrong number of inputs");
      for (int i = 0; i < command.num_inputs; ++i) {
        const Value& input = value(schedule_.Inputs(command)[static_cast<size_t>(i)]);
        if (!(input.source == node.inputs[static_cast<size_t>(i)]))
          Broken(fmt::format("input {} of {} is another tensor", i, Describe(c)));
      }
    }
  }

  // The commands after which a node without a command of its own is complete.
  const std::set<CommandId>& Done(NodeId node) {
    const auto found = done_.find(node);
    if (found != done_.end()) return found->second;
    std::set<CommandId> result;
    const auto command = launch_of_.find(node);
    if (command != launch_of_.end()) {
      result.insert(command->second);
    } else if (value_nodes_.count(node) > 0 || graph_.node(node).op == "NoOp") {
      for (const Endpoint& input : graph_.node(node).inputs) {
        if (fed_.count({input.node, input.output}) == 0) result.merge(std::set<CommandId>(Done(input.node)));
      }
      MergeControlInputs(node, &result);
    } else if (constant_nodes_.count(node) > 0) {
      MergeControlInputs(node, &result);
    }
    return done_.emplace(node, std::move(result)).first->second;
  }

  void MergeControlInputs(NodeId node, std::set<CommandId>* result) {
    for (const NodeId control : graph_.node(node).control_inputs)
      result->merge(std::set<CommandId>(Done(control)));
  }

  void CheckDependencies() {
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      if (command.kind == CommandKind::kLaunch)
        schedule_.ForNodes(command, [&](NodeId node) {
          const auto [first, is_first] = launch_of_.try_emplace(node, c);
          if (!is_first) again_.emplace(c, first->second);
        });
    }
    for (const Value& v : schedule_.values) {
      if (v.storage == Storage::kFeed) fed_.insert({v.source.node, v.source.output});
      if (v.alias_of.exists() || v.storage == Storage::kVariable) value_nodes_.insert(v.source.node);
      if (v.storage == Storage::kConstant && !v.alias_of.exists()) constant_nodes_.insert(v.source.node);
    }
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      for (const ValueId input : schedule_.Inputs(command)) {
        const CommandId producer = producer_[schedule_.Root(input)];
        const bool own_output = producer == c;
        if (producer.exists() && !own_output) Expect(producer, c, "a value is read before it is written");
        if (value(input).storage == Storage::kPlanned && !producer.exists())
          Broken(Describe(c) + " reads a value that nothing writes");
      }
      if (command.kind == CommandKind::kLaunch)
        schedule_.ForNodes(command, [&](NodeId node) { CheckEdges(c, graph_.node(node)); });
    }
  }

  void CheckEdges(CommandId c, const Node& node) {
    for (const NodeId control : node.control_inputs) {
      for (const CommandId before : Done(control)) ExpectUnlessSame(before, c, "a control edge is not kept");
    }
    for (const Endpoint& input : node.inputs) {
      if (fed_.count({input.node, input.output}) > 0) continue;
      for (const CommandId before : Done(input.node)) ExpectUnlessSame(before, c, "a data edge is not kept");
    }
  }

  // Directly, or over other places.
  bool IsOfVariable(ValueId copied) const {
    for (CommandId copy = producer_[copied];
         copy.exists() && schedule_.commands[copy].kind == CommandKind::kCopy; copy = producer_[copied]) {
      copied = schedule_.Inputs(schedule_.commands[copy])[0];
    }
    return value(copied).storage == Storage::kVariable;
  }

  void CheckCopies() {
    std::set<std::tuple<NodeId, int, DeviceId>> seen;
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      if (command.kind != CommandKind::kCopy) continue;
      if (command.num_inputs != 1 || command.num_outputs != 1)
        Broken(Describe(c) + " must have one source and one destination");
      const Value& from = value(schedule_.Inputs(command)[0]);
      const Value& to = value(schedule_.Outputs(command)[0]);
      if (!(from.source == to.source) || from.dtype != to.dtype) Broken(Describe(c) + " changes the tensor");
      if (from.device == to.device || IsOfVariable(schedule_.Inputs(command)[0]))
        continue;  // a variable has versions
      const bool fetched = std::find(schedule_.fetches.begin(), schedule_.fetches.end(),
                                     schedule_.Outputs(command)[0]) != schedule_.fetches.end();
      if (!fetched && !seen.insert({to.source.node, to.source.output, to.device}).second) {
        Broken(Describe(c) + " copies a tensor twice to one device");
      }
    }
  }

  // Whether the command writes the variable of its input.
  bool Updates(const Command& command, int input) const {
    if (command.kind != CommandKind::kLaunch) return false;
    const auto updates = [&](NodeId node, int number) {
      const OpDef* def = OpRegistry::Global().Find(graph_.node(node).op);
      return def != nullptr &&
             std::find(def->updates.begin(), def->updates.end(), number) != def->updates.end();
    };
    if (command.fused < 0) return updates(command.node, input);
    for (const FusedNode& member : schedule_.FusedNodes(command)) {
      for (size_t k = 0; k < member.inputs.size(); ++k) {
        if (member.inputs[k] == input && updates(member.node, static_cast<int>(k))) return true;
      }
    }
    return false;
  }

  // Every access to a variable is ordered against every update of it.
  void CheckVariables() {
    std::map<NodeId, std::pair<std::vector<CommandId>, std::vector<CommandId>>>
        accesses;  // variable -> (reads, updates)
    for (const CommandId c : schedule_.commands.ids()) {
      const Command& command = schedule_.commands[c];
      const auto inputs = schedule_.Inputs(command);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].exists() || !schedule_.RootValue(inputs[i]).variable.exists()) continue;
        const bool update = Updates(command, static_cast<int>(i));
        auto& lists = accesses[schedule_.RootValue(inputs[i]).variable];
        (update ? lists.second : lists.first).push_back(c);
      }
      for (const ValueId output : schedule_.Outputs(command)) {
        if (value(output).storage == Storage::kVariable && !value(output).alias_of.exists())
          accesses[value(output).variable].second.push_back(c);
      }
    }
    for (const auto& [variable, lists] : accesses) {
      for (const CommandId update : lists.second) {
        for (const auto* list : {&lists.first, &lists.second}) {
          for (const CommandId other : *list) {
            if (other != update) ExpectEither(update, other, "a variable is accessed while it is updated");
          }
        }
      }
    }
  }

  // Nodes of one launch are in order (CheckFused). One that computes a node of another again does without it:
  // of the values that it reads there CheckDependencies has told.
  void ExpectUnlessSame(CommandId before, CommandId after, const char* law) {
    const bool same = before == after && schedule_.commands[after].fused >= 0;
    if (!same && !again_.contains({after, before})) Expect(before, after, law);
  }
  void Expect(CommandId before, CommandId after, const char* law) { claims_.Claim(before, after, law); }
  // The listing is topological, so only the earlier one can be before the later.
  void ExpectEither(CommandId a, CommandId b, const char* law) {
    Expect(std::min(a, b), std::max(a, b), law);
  }

  const Graph& graph_;
  const Schedule& schedule_;
  IdVector<CommandId, std::vector<CommandId>> predecessors_;  // with the order of in-order queues
  IdVector<ValueId, CommandId> producer_;
  std::map<NodeId, CommandId> launch_of_;            // by node: the first that runs it
  std::set<std::pair<CommandId, CommandId>> again_;  // the launch, and the first of what it computes again
  std::set<std::pair<NodeId, int>> fed_;
  std::set<NodeId> constant_nodes_;
  std::set<NodeId> value_nodes_;  // nodes without a command whose output shares memory
  std::map<NodeId, std::set<CommandId>> done_;
  OrderClaims claims_;
};

}  // namespace

void VerifySchedule(const Graph& graph, const Schedule& schedule) { Verifier(graph, schedule).Run(); }

}  // namespace lanescope
