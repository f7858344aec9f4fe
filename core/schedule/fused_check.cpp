// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/fused_check.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"

namespace lanescope {
namespace {

class FusedChecker {
 public:
  FusedChecker(const Graph& graph, const Schedule& schedule, const Command& command)
      : graph_(graph),
        schedule_(schedule),
        nodes_(schedule.FusedNodes(command)),
        inputs_(schedule.Inputs(command)),
        outputs_(schedule.Outputs(command)) {
    if (nodes_.size() < 2) Throw(Code::kInternal, "schedule is wrong: a fused launch runs one node");
    if (command.node != nodes_.back().node) Broken(nodes_.back(), "is not the node of its launch");
    group_ = BlockGroups(graph, nodes_);
  }

  void Run() {
    std::set<int> written;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      CheckInputs(i);
      if (IsProduct(i)) CheckProduct(i);
      const int output = nodes_[i].output;
      if (output < 0) continue;
      if (static_cast<size_t>(output) >= outputs_.size() || !written.insert(output).second ||
          value(outputs_[static_cast<size_t>(output)]).source.node != nodes_[i].node)
        Broken(nodes_[i], "writes another output");
    }
    if (written.size() != outputs_.size()) Broken(nodes_.back(), "leaves an output unwritten");
    CheckVariables();
  }

 private:
  const Value& value(ValueId v) const { return schedule_.values[v]; }
  const Node& node(size_t i) const { return graph_.node(nodes_[i].node); }
  bool InBlocks(size_t i) const { return RunsInBlocks(FusionRoleOf(node(i))); }
  bool IsProduct(size_t i) const { return FusionRoleOf(node(i)) == FusionRole::kProduct; }
  bool IsUpdate(size_t i) const { return FusionRoleOf(node(i)) == FusionRole::kUpdate; }
  [[noreturn]] void Broken(const FusedNode& node, const char* what) const {
    Throw(Code::kInternal, "schedule is wrong: '{}' in a fused launch {}", graph_.node(node.node).name, what);
  }

  // The tensor that ops without work of their own pass on.
  Endpoint Source(Endpoint endpoint) const {
    for (const OpDef* def = OpRegistry::Global().Find(graph_.node(endpoint.node).op);
         def != nullptr && def->alias == AliasRule::kInput0;
         def = OpRegistry::Global().Find(graph_.node(endpoint.node).op)) {
      endpoint = graph_.node(endpoint.node).inputs[0];
    }
    return endpoint;
  }

  void CheckInputs(size_t i) const {
    const FusedNode& member = nodes_[i];
    if (member.inputs.size() != node(i).inputs.size()) Broken(member, "has a wrong number of inputs");
    for (size_t k = 0; k < member.inputs.size(); ++k) {
      const int input = member.inputs[k];
      const Endpoint wanted = node(i).inputs[k];
      if (input >= 0) {
        if (static_cast<size_t>(input) >= inputs_.size() ||
            !(value(inputs_[static_cast<size_t>(input)]).source == wanted))
          Broken(member, "reads another tensor");
        continue;
      }
      const auto maker = static_cast<size_t>(-1 - input);
      if (maker >= i) Broken(member, "reads what is not made yet");
      if (!(Source(wanted) == Endpoint{nodes_[maker].node, 0})) Broken(member, "reads another node's result");
      if (IsUpdate(i) && k != static_cast<size_t>(GradientInput(node(i).op)) && group_[i] == group_[maker])
        Broken(member, "reads a number that its own launch makes");
      const bool in_memory = nodes_[maker].output >= 0;
      const bool in_blocks = InBlocks(i) || (IsUpdate(i) && group_[i] == group_[maker]);
      if (!in_memory && (!in_blocks || !InBlocks(maker))) Broken(member, "reads what is in no memory");
    }
  }

  // It makes the launch's matrices, or reads them from one other node in blocks. What it makes of them is
  // complete at the end of the launch.
  void CheckProduct(size_t i) const {
    const std::optional<RowProduct> product =
        nodes_[i].inputs.size() == 2 ? RowProductIn(node(i), nodes_[i]) : std::nullopt;
    const std::optional<MatrixBatch> matrices = MatricesOfLaunch(graph_, nodes_);
    if (!product || !matrices) Broken(nodes_[i], "is a product of what the launch makes");
    if (product->part == ProductPart::kMakes) {
      if (!(MatricesOf(nodes_[i].shape) == *matrices)) Broken(nodes_[i], "makes other matrices");
      return;
    }
    const auto maker = static_cast<size_t>(-1 - nodes_[i].inputs[static_cast<size_t>(product->matrices)]);
    if (!InBlocks(maker) || nodes_[maker].shape.NumElements() != matrices->elements())
      Broken(nodes_[i], "reads other matrices");
    if (nodes_[i].output < 0) Broken(nodes_[i], "is a product without memory");
    for (const FusedNode& other : nodes_) {
      if (std::ranges::find(other.inputs, -1 - static_cast<int>(i)) != other.inputs.end())
        Broken(other, "reads a product that is not complete");
    }
  }

  // A variable that one node writes is read by no other, except element by element and before. The update of
  // a variable may follow what works on the same elements.
  void CheckVariables() const {
    for (size_t writer = 0; writer < nodes_.size(); ++writer) {
      for (const NodeId variable : WrittenBy(writer)) {
        for (size_t other = 0; other < nodes_.size(); ++other) {
          if (other != writer && Disturbs(other, writer, variable))
            Broken(nodes_[other], "accesses a variable that another node of it writes");
        }
      }
    }
  }

  NodeId VariableOf(ValueId v) const { return schedule_.RootValue(v).variable; }
  std::set<NodeId> WrittenBy(size_t i) const {
    std::set<NodeId> written;
    const auto add = [&](ValueId v) {
      if (VariableOf(v).exists()) written.insert(VariableOf(v));
    };
    if (InBlocks(i)) {
      if (nodes_[i].output >= 0) add(outputs_[static_cast<size_t>(nodes_[i].output)]);
      return written;
    }
    for (const int input : OpRegistry::Global().Find(node(i).op)->updates) {
      const int of_command = nodes_[i].inputs[static_cast<size_t>(input)];
      if (of_command >= 0) add(inputs_[static_cast<size_t>(of_command)]);
    }
    return written;
  }

  bool Disturbs(size_t other, size_t writer, NodeId variable) const {
    // An assignment and the node that has written for it are one.
    const auto assigns = [&](size_t assign, size_t producer) {
      return !InBlocks(assign) && nodes_[assign].inputs.size() == 2 &&
             nodes_[assign].inputs[1] == -1 - static_cast<int>(producer);
    };
    if (assigns(other, writer) || assigns(writer, other)) return false;
    if (Follows(other, writer) || Follows(writer, other)) return false;
    if (WrittenBy(other).contains(variable)) return true;
    return std::ranges::any_of(nodes_[other].inputs, [&](int input) {
      if (input < 0 || VariableOf(inputs_[static_cast<size_t>(input)]) != variable) return false;
      const bool in_place =
          InBlocks(other) && InBlocks(writer) && other < writer && group_[other] == group_[writer] &&
          value(inputs_[static_cast<size_t>(input)]).shape.NumElements() ==
              value(outputs_[static_cast<size_t>(nodes_[writer].output)]).shape.NumElements();
      return !in_place;
    });
  }

  // Whether the update works on the elements that the earlier node has worked on, or has written for it,
  // block by block.
  bool Follows(size_t update, size_t earlier) const {
    if (!IsUpdate(update) || earlier >= update) return false;
    if (!InBlocks(earlier) && !IsUpdate(earlier)) {
      const int written = nodes_[earlier].inputs[1];
      return written < 0 && Follows(update, static_cast<size_t>(-1 - written));
    }
    return InBlocks(earlier) && group_[update] == group_[earlier];
  }

  const Graph& graph_;
  const Schedule& schedule_;
  const std::span<const FusedNode> nodes_;
  const std::span<const ValueId> inputs_, outputs_;
  std::vector<int> group_;
};

}  // namespace

void CheckFused(const Graph& graph, const Schedule& schedule) {
  for (const Command& command : schedule.commands) {
    if (command.fused >= 0) FusedChecker(graph, schedule, command).Run();
  }
}

}  // namespace lanescope
