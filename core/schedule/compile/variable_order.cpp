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
      updates_[variable].assign(nodes.size(), -1);
      for (size_t place = 0; place < nodes.size(); ++place) places_[{variable, nodes[place]}] = place;
    }
    for (const VariableRead& read : draft_.reads) users_[read.value];
    for (int c = 0; c < draft_.num_commands(); ++c) {
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
    int command = -1;
    int variable = -1;
    int version = 0;
  };

  int Variable(ValueId value) const { return draft_.value(draft_.Root(value)).variable; }
  bool IsRead(ValueId root) const { return draft_.value(root).source.node != draft_.value(root).variable; }

  void FindAccesses(int number) {
    const Command& command = draft_.command(number);
    const bool launch = command.kind == CommandKind::kLaunch;
    const auto inputs = draft_.Inputs(command);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId root = draft_.Root(inputs[i]);
      const int variable = draft_.value(root).variable;
      if (variable < 0 || IsRead(root)) continue;
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

  void FindUses(int number) {
    for (const ValueId input : draft_.Inputs(draft_.command(number))) {
      const auto users = users_.find(draft_.Root(input));
      if (users == users_.end()) continue;
      if (users->second.empty() || users->second.back() != number) users->second.push_back(number);
    }
  }

  void Chain(const std::vector<int>& updates) {
    for (size_t u = 1; u < updates.size(); ++u) After(updates[u], updates[u - 1]);
  }

  // `command` waits for `before`, unless it does so already or is the same.
  void After(int command, int before) {
    if (command < 0 || before < 0 || command == before) return;
    if (!reach_.Reaches(before, command)) AddEdge(before, command);
  }
  void AddEdge(int before, int command) {
    draft_.dependencies.Add(command, before);
    reach_.AddEdge(before, command);
  }

  // The update that makes the version, and the one that ends it; -1 where there is none.
  int Begin(int variable, int version) const {
    const auto updates = updates_.find(variable);
    return version > 0 && updates != updates_.end() ? updates->second[static_cast<size_t>(version) - 1] : -1;
  }
  int End(int variable, int version) const {
    const auto updates = updates_.find(variable);
    return updates != updates_.end() && static_cast<size_t>(version) < updates->second.size()
               ? updates->second[static_cast<size_t>(version)]
               : -1;
  }

  void Put(int command, int variable, int version) {
    After(command, Begin(variable, version));
    const int end = End(variable, version);
    if (end >= 0 && end != command) AddEdge(command, end);
  }

  // What a read waits for comes before the update that the read precedes.
  void PutRead(const VariableRead& read) {
    const int variable = draft_.value(read.value).variable;
    const int end = End(variable, draft_.VersionAt(draft_.value(read.value).source.node, variable));
    for (const int before : read.after) {
      if (end >= 0) After(end, before);
    }
  }

  struct ReadVersion {
    int variable;
    int version;
    const VariableRead* read;
  };

  // Variable by variable, last versions first: what depends on the end of a version then grows from read to
  // read, so that everything is looked at once for each variable.
  void OrderReads() {
    std::vector<ReadVersion> reads;
    for (const VariableRead& read : draft_.reads) {
      const int variable = draft_.value(read.value).variable;
      if (!updates_.contains(variable)) continue;
      reads.push_back({variable, draft_.VersionAt(draft_.value(read.value).source.node, variable), &read});
    }
    std::stable_sort(reads.begin(), reads.end(), [](const ReadVersion& a, const ReadVersion& b) {
      return a.variable != b.variable ? a.variable < b.variable : a.version > b.version;
    });
    int variable = -1, marked = -1;
    for (const ReadVersion& next : reads) {
      if (next.variable != variable) reach_.Forget();
      variable = next.variable;
      const int end = End(variable, next.version);
      if (end >= 0 && end != marked) reach_.MarkMore(end, [](int) {});
      marked = end;
      OrderUsers(*next.read, variable, next.version, end);
    }
  }

  // What depends on `end` is marked, and stays so: an edge that is added here starts at a command before
  // `end`.
  void OrderUsers(const VariableRead& read, int variable, int version, int end) {
    const std::vector<int>& users = users_.at(read.value);
    if (end >= 0) {
      // An update may read its own variable through the value.
      const bool outlived =
          std::any_of(users.begin(), users.end(), [&](int user) { return reach_.Marked(user); });
      if (outlived) return Put(Snapshot(read, users), variable, version);
    }
    for (const int user : users) Put(user, variable, version);
  }

  // Turns the read into a copy inside the device and lets its users wait for that.
  int Snapshot(const VariableRead& read, const std::vector<int>& users) {
    const Value variable = draft_.value(read.value);
    const ValueId original = draft_.values.Add(variable);
    draft_.producer.Add(-1);
    draft_.value(read.value).storage = Storage::kPlanned;
    draft_.value(read.value).variable = -1;
    const int number = draft_.AddCopy(original, read.value, variable.source.node, 0);
    reach_.AddCommand();
    for (const int before : read.after) AddEdge(before, number);
    for (const int user : users) AddEdge(number, user);
    return number;
  }

  Draft& draft_;
  Reachability reach_;
  std::map<int, std::vector<int>> updates_;              // by variable: the commands of Draft::updates
  std::map<std::pair<int, int>, size_t> places_;         // by (variable, node): its place among the updates
  std::vector<Access> accesses_;                         // reads of the variable's memory by commands
  std::unordered_map<ValueId, std::vector<int>> users_;  // by value of a read: the commands that use it
};

}  // namespace

void OrderVariables(Draft* draft) {
  if (!draft->updates.empty()) VariableOrder(draft).Run();
}

}  // namespace lanescope::compile
