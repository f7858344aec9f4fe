// SPDX-License-Identifier: Apache-2.0
// v = Assign(v, f(v, ..)) with an element-wise f: lets f write into the variable itself, so that the Assign
// has nothing left to copy (TensorFlow gets the same by handing over the buffer of a value that nobody else
// holds). f then counts as an update of the variable, and OrderVariables keeps readers of the old value
// before it.

#include <algorithm>
#include <map>

#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/reachability.h"

namespace lanescope::compile {
namespace {

class WriteThroughPass {
 public:
  explicit WriteThroughPass(Draft* draft)
      : draft_(*draft), reach_(*draft), users_(draft->values.size()), is_fetched_(draft->values.size(), 0) {
    for (const ValueId fetch : draft_.fetches) is_fetched_[draft_.Root(fetch)] = 1;
    for (const CommandId c : draft_.commands.ids()) {
      for (const ValueId input : draft_.Inputs(draft_.command(c))) users_[draft_.Root(input)].push_back(c);
    }
    // Readers and writers of a variable, whichever of its values they name.
    for (const ValueId v : draft_.values.ids()) {
      if (!draft_.values[v].alias_of.exists() && draft_.values[v].variable.exists()) {
        auto& accesses = accesses_[draft_.values[v].variable];
        accesses.insert(accesses.end(), users_[v].begin(), users_[v].end());
      }
    }
  }

  void Run() {
    for (const CommandId c : draft_.commands.ids()) {
      const Command& command = draft_.command(c);
      const bool assign = command.kind == CommandKind::kLaunch && command.num_inputs == 2 &&
                          draft_.op(command.node).op_class == OpClass::kAssign;
      if (assign && MayWriteThrough(c)) WriteThrough(c);
    }
  }

 private:
  bool MayWriteThrough(CommandId assign) {
    const Command& command = draft_.command(assign);
    const auto inputs = draft_.Inputs(command);
    const ValueId value = inputs[1];
    const Value& written = draft_.value(value);
    const NodeId variable = draft_.value(draft_.Root(inputs[0])).variable;
    const CommandId producer = draft_.producer[value];
    if (!producer.exists() || !variable.exists() || written.storage != Storage::kPlanned ||
        written.alias_of.exists() || !written.shape.IsExact())
      return false;
    if (users_[value].size() != 1 || is_fetched_[value]) return false;
    const Command& source = draft_.command(producer);
    const DeviceId device = draft_.DeviceOf(command);
    const OpDef* def = draft_.LaunchedOp(source);
    if (def == nullptr || !def->in_place || draft_.Outputs(source)[0] != value ||
        draft_.DeviceOf(source) != device || written.device != device)
      return false;
    return HasVariableShape(written, variable) && ReadsElementwise(source, written, variable) &&
           IsAloneBetween(producer, assign, variable);
  }

  bool HasVariableShape(const Value& written, NodeId variable) const {
    const TensorInfo& info = draft_.info.of({variable, 0});
    const TensorInfo& content = info.handle != nullptr ? *info.handle : info;
    return content.dtype == written.dtype && content.shape == written.shape;
  }

  // A variable that the producer reads has the place of the value that it writes.
  bool ReadsElementwise(const Command& source, const Value& written, NodeId variable) const {
    const auto inputs = draft_.Inputs(source);
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return draft_.value(draft_.Root(input)).variable != variable ||
             draft_.value(input).shape == written.shape;
    });
  }

  // Every other access of the variable can come before the producer, or comes after the Assign anyway; so
  // does all else that the Assign waits for.
  bool IsAloneBetween(CommandId producer, CommandId assign, NodeId variable) {
    reach_.MarkFrom(assign);
    std::vector<CommandId> others;
    for (const CommandId access : accesses_[variable]) {
      if (access != producer && access != assign && !reach_.Marked(access)) others.push_back(access);
    }
    draft_.dependencies.ForEach(assign, [&](CommandId before) {
      if (before != producer) others.push_back(before);
    });
    reach_.MarkFrom(producer);
    return std::none_of(others.begin(), others.end(),
                        [&](CommandId other) { return reach_.Marked(other) || IsUpdate(other, variable); });
  }

  bool IsUpdate(CommandId number, NodeId variable) const {
    const Command& command = draft_.command(number);
    const OpDef* def = draft_.LaunchedOp(command);
    if (def == nullptr) return false;
    const auto inputs = draft_.Inputs(command);
    return std::any_of(def->updates.begin(), def->updates.end(), [&](int input) {
      const auto i = static_cast<size_t>(input);
      return i < inputs.size() && draft_.value(draft_.Root(inputs[i])).variable == variable;
    });
  }

  void WriteThrough(CommandId assign) {
    const auto inputs = draft_.Inputs(draft_.command(assign));
    Value& value = draft_.value(inputs[1]);
    value.storage = Storage::kVariable;
    value.variable = draft_.value(draft_.Root(inputs[0])).variable;
    const CommandId producer = draft_.producer[inputs[1]];
    draft_.dependencies.ForEach(assign, [&](CommandId before) {
      if (before == producer) return;
      draft_.dependencies.Add(producer, before);
      reach_.AddEdge(before, producer);
    });
    accesses_[value.variable].push_back(producer);
  }

  Draft& draft_;
  Reachability<CommandId> reach_;
  IdVector<ValueId, std::vector<CommandId>> users_;    // by root value: the commands that read it
  IdVector<ValueId, char> is_fetched_;                 // by root value
  std::map<NodeId, std::vector<CommandId>> accesses_;  // by variable
};

}  // namespace

void WriteThrough(Draft* draft) {
  if (!draft->updates.empty()) WriteThroughPass(draft).Run();
}

}  // namespace lanescope::compile
