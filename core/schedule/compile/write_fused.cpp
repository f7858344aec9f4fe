// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/write_fused.h"

#include <algorithm>
#include <utility>

#include "core/schedule/fusion.h"

namespace lanescope::compile {
namespace {

class FusedWriter {
 public:
  FusedWriter(Draft* draft, const FusionGroups& groups)
      : draft_(*draft),
        groups_(groups),
        is_read_(draft->values.size(), 0),
        position_(draft->commands.size(), -1),
        number_(draft->commands.size()),
        value_(draft->values.size()) {}

  void Run() {
    FindReadValues();
    NumberValues();
    WriteCommands();
    WriteValues();
  }

 private:
  bool IsFused(CommandId c) const { return groups_.Members(groups_.Of(c)).size() > 1; }
  bool InBlocks(CommandId c) const { return RunsInBlocks(FusionRoleOf(draft_.node(draft_.command(c).node))); }
  // An update reads its gradient, and nothing else, of another node of its launch: block by block.
  bool IsUpdate(CommandId c) const {
    return FusionRoleOf(draft_.node(draft_.command(c).node)) == FusionRole::kUpdate;
  }
  // By root: values that lie in memory since others than the blocks of their own launch read them.
  void FindReadValues() {
    for (const CommandId c : draft_.commands.ids()) {
      for (const ValueId input : draft_.Inputs(draft_.command(c))) {
        if (!input.exists()) continue;
        const ValueId root = draft_.Root(input);
        const CommandId producer = draft_.producer[root];
        const bool within = producer.exists() && IsFused(producer) && groups_.Of(producer) == groups_.Of(c) &&
                            (InBlocks(c) || IsUpdate(c)) && InBlocks(producer);
        if (!within) is_read_[root] = 1;
      }
    }
    for (const ValueId fetch : draft_.fetches) is_read_[draft_.Root(fetch)] = 1;
  }
  bool IsKept(ValueId value) const {
    const ValueId root = draft_.Root(value);
    const CommandId producer = draft_.producer[root];
    return is_read_[root] != 0 || !producer.exists() || !IsFused(producer) || !InBlocks(producer) ||
           draft_.value(root).storage != Storage::kPlanned;
  }

  void NumberValues() {
    int next = 0;
    for (const ValueId v : draft_.values.ids()) {
      if (IsKept(v)) value_[v] = ValueId(next++);
    }
  }
  ValueId NewValue(ValueId old) const { return old.exists() ? value_[old] : old; }

  // A group stands where the last of its commands stood.
  void WriteCommands() {
    IdVector<CommandId, Command> commands;
    for (const CommandId c : draft_.commands.ids()) {
      const CommandId group = groups_.Of(c);
      if (groups_.Last(group) != c) continue;
      const CommandId number = commands.Add(IsFused(c) ? MakeFused(group) : MakeSingle(c));
      for (const CommandId member : groups_.Members(group)) number_[member] = number;
    }
    LinkedLists<CommandId> dependencies(commands.size());
    for (const CommandId c : draft_.commands.ids()) {
      draft_.dependencies.ForEach(c, [&](CommandId before) {
        if (number_[before] != number_[c]) dependencies.Add(number_[c], number_[before]);
      });
    }
    std::map<CommandId, int> copied;
    for (const auto& [copy, version] : draft_.copied_versions) copied[number_[copy]] = version;
    draft_.copied_versions = std::move(copied);
    draft_.repeats.clear();  // only the pass Fuse asks
    draft_.dependencies = std::move(dependencies);
    draft_.commands = std::move(commands);
    draft_.operands = std::move(operands_);
  }

  Command MakeSingle(CommandId c) {
    Command command = draft_.command(c);
    const auto inputs = draft_.Inputs(command), outputs = draft_.Outputs(command);
    command.inputs = static_cast<int>(operands_.size());
    for (const ValueId input : inputs) operands_.push_back(NewValue(input));
    command.outputs = static_cast<int>(operands_.size());
    for (const ValueId output : outputs) operands_.push_back(NewValue(output));
    return command;
  }

  Command MakeFused(CommandId group) {
    const auto& members = groups_.Members(group);
    FusedLaunch launch;
    std::vector<ValueId> inputs, outputs;
    for (const CommandId c : members) {
      const Command& command = draft_.command(c);
      FusedNode node;
      node.node = command.node;
      for (const ValueId input : draft_.Inputs(command))
        node.inputs.push_back(InputOf(input, group, &inputs));
      for (const ValueId output : draft_.Outputs(command)) {
        node.dtype = draft_.value(output).dtype;
        node.shape = draft_.value(output).shape;
        if (!NewValue(output).exists()) continue;
        node.output = static_cast<int>(outputs.size());
        outputs.push_back(NewValue(output));
      }
      position_[c] = static_cast<int>(launch.nodes.size());
      launch.nodes.push_back(std::move(node));
    }
    Command fused;
    fused.node = draft_.command(members.back()).node;
    fused.fused = static_cast<int>(draft_.fused.size());
    fused.inputs = static_cast<int>(operands_.size());
    fused.num_inputs = static_cast<int>(inputs.size());
    operands_.insert(operands_.end(), inputs.begin(), inputs.end());
    fused.outputs = static_cast<int>(operands_.size());
    fused.num_outputs = static_cast<int>(outputs.size());
    operands_.insert(operands_.end(), outputs.begin(), outputs.end());
    draft_.fused.push_back(std::move(launch));
    return fused;
  }

  int InputOf(ValueId input, CommandId group, std::vector<ValueId>* inputs) const {
    const CommandId producer = draft_.producer[draft_.Root(input)];
    if (producer.exists() && groups_.Of(producer) == group) return -1 - position_[producer];
    const auto found = std::ranges::find(*inputs, NewValue(input));
    if (found == inputs->end()) {
      inputs->push_back(NewValue(input));
      return static_cast<int>(inputs->size()) - 1;
    }
    return static_cast<int>(found - inputs->begin());
  }

  void WriteValues() {
    IdVector<ValueId, Value> values;
    IdVector<ValueId, CommandId> producer;
    for (const ValueId v : draft_.values.ids()) {
      if (!value_[v].exists()) continue;
      Value value = draft_.value(v);
      value.alias_of = NewValue(value.alias_of);
      values.Add(std::move(value));
      producer.Add(draft_.producer[v].exists() ? number_[draft_.producer[v]] : CommandId());
    }
    for (ValueId& feed : draft_.feeds) feed = NewValue(feed);
    for (ValueId& fetch : draft_.fetches) fetch = NewValue(fetch);
    draft_.reads.clear();  // for OrderVariables
    draft_.values = std::move(values);
    draft_.producer = std::move(producer);
  }

  Draft& draft_;
  const FusionGroups& groups_;
  IdVector<ValueId, char> is_read_;
  IdVector<CommandId, int> position_;      // in its launch
  IdVector<CommandId, CommandId> number_;  // from now on
  IdVector<ValueId, ValueId> value_;       // from now on; none: forgotten
  std::vector<ValueId> operands_;
};

}  // namespace

void WriteFused(Draft* draft, const FusionGroups& groups) { FusedWriter(draft, groups).Run(); }

}  // namespace lanescope::compile
