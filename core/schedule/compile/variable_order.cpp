// SPDX-License-Identifier: Apache-2.0
// Turns the versions that nodes read (NumberVersions) into dependencies of commands: what reads version k of
// a variable comes after its k-th update and before the next one.
//
// A reference variable is memory: whoever depends on the update sees the new value (TensorFlow's reference
// variables share the buffer in the same way). ReadVariableOp takes the value at its own place in the order:
// where users of a read come after an update that the read precedes, the read becomes a copy.

#include <algorithm>
#include <unordered_map>

#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/reachability.h"

namespace lanescope::compile {
namespace {

class VariableOrder {
 public:
  explicit VariableOrder(Draft* draft) : draft_(*draft), reach_(*draft) {
    for (const auto& [variable, nodes] : draft_.updates) {
      updates_[variable].assign(nodes.size(), {});
      for (size_t place = 0; place < nodes.size(); ++place) places_[{variable, nodes[place]}] = place;
    }
    for (const VariableRead& read : draft_.reads) users_[read.value];
    for (const CommandId c : draft_.commands.ids()) {
      FindAccesses(c);
      FindUses(c);
    }
  }

  void Run() {
    for (const auto& [variable, updates] : updates_) Chain(updates);
    for (const Access& access : accesses_) Put(access.command, access.variable, access.version);
    for (const VariableRead& read : draft_.reads) PutRead(read);
    OrderReads();
  }

 private:
  struct Access {
    CommandId command;
    NodeId variable;
    int version = 0;
  };

  NodeId Variable(ValueId value) const { return draft_.value(draft_.Root(value)).variable; }
  bool IsRead(ValueId root) const { return draft_.value(root).source.node != draft_.value(root).variable; }

  void FindAccesses(CommandId number) {
    const Command& command = draft_.command(number);
    const bool launch = command.kind == CommandKind::kLaunch;
    const auto inputs = draft_.Inputs(command);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId root = draft_.Root(inputs[i]);
      const NodeId variable = draft_.value(root).variable;
      if (!variable.exists() || IsRead(root)) continue;
      const auto updates = updates_.find(variable);
      if (updates == updates_.end()) continue;
      if (launch && draft_.op(command.node).Updates(i)) {
        updates->second[places_.at({variable, command.node})] = number;
      } else {
        accesses_.push_back({number, variable,
                             command.kind == CommandKind::kCopy ? draft_.CopiedVersion(number)
                                                                : draft_.VersionAt(command.node, variable)});
      }
    }
  }

  void FindUses(CommandId number) {
    for (const ValueId input : draft_.Inputs(draft_.command(number))) {
      const auto users = users_.find(draft_.Root(input));
      if (users == users_.end()) continue;
      if (users->second.empty() || users->second.back() != number) users->second.push_back(number);
    }
  }

  void Chain(const std::vector<CommandId>& updates) {
    for (size_t u = 1; u < updates.size(); ++u) After(updates[u], updates[u - 1]);
  }

  // `command` waits for `before`, unless it does so already or is the same.
  void After(CommandId command, CommandId before) {
    if (!command.exists() || !before.exists() || command == before) return;
    if (!reach_.Reaches(before, command)) AddEdge(before, command);
  }
  void AddEdge(CommandId before, CommandId command) {
    draft_.dependencies.Add(command, before);
    reach_.AddEdge(before, command);
  }

  // The update that makes the version, and the one that ends it; none where there is no such.
  CommandId Begin(NodeId variable, int version) const {
    const auto updates = updates_.find(variable);
    return version > 0 && updates != updates_.end() ? updates->second[static_cast<size_t>(version) - 1]
                                                    : CommandId();
  }
  CommandId End(NodeId variable, int version) const {
    const auto updates = updates_.find(variable);
    return updates != updates_.end() && static_cast<size_t>(version) < updates->second.size()
               ? updates->second[static_cast<size_t>(version)]
               : CommandId();
  }

  void Put(CommandId command, NodeId variable, int version) {
    After(command, Begin(variable, version));
    const CommandId end = End(variable, version);
    if (end.exists() && end != command) AddEdge(command, end);
  }

  // The commands that a read waits for come before the update that the read precedes.
  void PutRead(const VariableRead& read) {
    const NodeId variable = draft_.value(read.value).variable;
    const CommandId end = End(variable, draft_.VersionAt(draft_.value(read.value).source.node, variable));
    for (const CommandId before : read.after) {
      if (end.exists()) After(end, before);
    }
  }

  struct ReadVersion {
    NodeId variable;
    int version;
    const VariableRead* read;
  };

  // Variable by variable, last versions first: what depends on the end of a version then grows from read to
  // read, so that everything is looked at once for each variable.
  void OrderReads() {
    std::vector<ReadVersion> reads;
    for (const VariableRead& read : draft_.reads) {
      const NodeId variable = draft_.value(read.value).variable;
      if (!updates_.contains(variable)) continue;
      reads.push_back({variable, draft_.VersionAt(draft_.value(read.value).source.node, variable), &read});
    }
    std::stable_sort(reads.begin(), reads.end(), [](const ReadVersion& a, const ReadVersion& b) {
      return a.variable != b.variable ? a.variable < b.variable : a.version > b.version;
    });
    NodeId variable;
    CommandId marked;
    for (const ReadVersion& next : reads) {
      if (next.variable != variable) reach_.Forget();
      variable = next.variable;
      const CommandId end = End(variable, next.version);
      if (end.exists() && end != marked) reach_.MarkMore(end, [](CommandId) {});
      marked = end;
      OrderUsers(*next.read, variable, next.version, end);
    }
  }

  // All that depends on `end` is marked, and stays so: an edge that is added here starts at a command before
  // `end`.
  void OrderUsers(const VariableRead& read, NodeId variable, int version, CommandId end) {
    const std::vector<CommandId>& users = users_.at(read.value);
    if (end.exists()) {
      // An update may read its own variable through the value.
      const bool outlived =
          std::any_of(users.begin(), users.end(), [&](CommandId user) { return reach_.Marked(user); });
      if (outlived) return Put(Snapshot(read, users), variable, version);
    }
    for (const CommandId user : users) Put(user, variable, version);
  }

  // Turns the read into a copy inside the device and lets its users wait for that.
  CommandId Snapshot(const VariableRead& read, const std::vector<CommandId>& users) {
    const Value variable = draft_.value(read.value);
    const ValueId original = draft_.values.Add(variable);
    draft_.producer.Add({});
    draft_.value(read.value).storage = Storage::kPlanned;
    draft_.value(read.value).variable = NodeId();
    const CommandId number = draft_.AddCopy(original, read.value, variable.source.node, 0);
    reach_.Add();
    for (const CommandId before : read.after) AddEdge(before, number);
    for (const CommandId user : users) AddEdge(number, user);
    return number;
  }

  Draft& draft_;
  Reachability<CommandId> reach_;
  std::map<NodeId, std::vector<CommandId>> updates_;    // by variable: the commands of Draft::updates
  std::map<std::pair<NodeId, NodeId>, size_t> places_;  // by (variable, node): its place among the updates
  std::vector<Access> accesses_;                        // reads of the variable's memory by commands
  std::unordered_map<ValueId, std::vector<CommandId>> users_;  // by value of a read: the commands that use it
};

}  // namespace

void OrderVariables(Draft* draft) {
  if (!draft->updates.empty()) VariableOrder(draft).Run();
}

}  // namespace lanescope::compile
