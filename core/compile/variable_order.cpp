// A step reads a variable's old value unless it says otherwise: every command that reads a variable and does
// not depend on an update of it comes before that update. Updates of one variable that nothing orders take
// the order of the graph.
//
// A reference variable is memory: whoever depends on the update sees the new value (TensorFlow's reference
// variables share the buffer in the same way). ReadVariableOp takes the value at its own place in the order:
// where users of a read come after an update that the read precedes, the read becomes a copy.

#include <algorithm>
#include <map>

#include "core/compile/draft.h"
#include "core/compile/reachability.h"

namespace lanescope::compile {
namespace {

struct Accesses {
  std::vector<int> readers;
  std::vector<int> updates;  // in the order of their creation, which respects the dependencies
};

bool Updates(const OpDef* def, size_t input) {
  return def != nullptr &&
         std::find(def->updates.begin(), def->updates.end(), static_cast<int>(input)) != def->updates.end();
}

std::map<int, Accesses> CollectAccesses(const Draft& draft) {
  std::map<int, Accesses> accesses;
  for (size_t c = 0; c < draft.commands.size(); ++c) {
    const DraftCommand& command = draft.commands[c];
    const OpDef* def = command.kind == CommandKind::kLaunch
                           ? OpRegistry::Global().Find(draft.node(command.node).op)
                           : nullptr;
    for (size_t i = 0; i < command.inputs.size(); ++i) {
      if (command.inputs[i] < 0) continue;
      const Value& root = draft.value(draft.Root(command.inputs[i]));
      if (root.variable < 0) continue;
      auto& list = Updates(def, i) ? accesses[root.variable].updates : accesses[root.variable].readers;
      if (list.empty() || list.back() != static_cast<int>(c)) list.push_back(static_cast<int>(c));
    }
    for (const int output : command.outputs) {
      // Written in place by its producer (WriteThrough).
      const Value& value = draft.value(output);
      if (value.storage == Storage::kVariable && value.alias_of < 0)
        accesses[value.variable].updates.push_back(static_cast<int>(c));
    }
  }
  return accesses;
}

// Turns the read into a copy inside the device and lets its users wait for that.
int SnapshotRead(Draft* draft, const VariableRead& read, Reachability* reach) {
  Value& value = draft->value(read.value);
  Value variable = value;
  value.storage = Storage::kPlanned;
  value.variable = -1;
  const int device = value.device;
  const int source_node = value.source.node;
  draft->values.push_back(std::move(variable));
  draft->producer.push_back(-1);
  const int number = static_cast<int>(draft->commands.size());
  DraftCommand copy;
  copy.kind = CommandKind::kCopy;
  copy.node = source_node;
  copy.device = device;
  copy.inputs = {static_cast<int>(draft->values.size()) - 1};
  copy.outputs = {read.value};
  copy.after = read.after;
  reach->AddCommand();
  for (const int before : copy.after) reach->AddEdge(before, number);
  draft->producer[static_cast<size_t>(read.value)] = number;
  for (int c = 0; c < number; ++c) {
    DraftCommand& user = draft->command(c);
    for (const int input : user.inputs) {
      if (input < 0 || draft->Root(input) != read.value) continue;
      user.after.push_back(number);
      reach->AddEdge(number, c);
      break;
    }
  }
  draft->commands.push_back(std::move(copy));
  return number;
}

void SnapshotReads(Draft* draft, Reachability* reach) {
  const auto accesses = CollectAccesses(*draft);
  for (const VariableRead& read : draft->reads) {
    const auto found = accesses.find(draft->value(read.value).variable);
    if (found == accesses.end()) continue;
    for (const int update : found->second.updates) {
      reach->MarkFrom(update);
      const bool read_is_new = std::any_of(read.after.begin(), read.after.end(), [&](int before) {
        return before == update || reach->Marked(before);
      });
      const bool user_is_after =
          std::any_of(found->second.readers.begin(), found->second.readers.end(), [&](int user) {
            const auto& inputs = draft->command(user).inputs;
            return reach->Marked(user) && std::any_of(inputs.begin(), inputs.end(), [&](int input) {
                     return input >= 0 && draft->Root(input) == read.value;
                   });
          });
      if (!read_is_new && user_is_after) {
        SnapshotRead(draft, read, reach);
        break;
      }
    }
  }
}

}  // namespace

void OrderVariables(Draft* draft) {
  Reachability reach(*draft);
  SnapshotReads(draft, &reach);
  for (const auto& [variable, access] : CollectAccesses(*draft)) {
    for (size_t u = 0; u < access.updates.size(); ++u) {
      const int update = access.updates[u];
      reach.MarkFrom(update);
      const auto before = [&](int command) {
        if (command == update || reach.Marked(command)) return;
        draft->command(update).after.push_back(command);
        reach.AddEdge(command, update);
      };
      for (size_t earlier = 0; earlier < u; ++earlier) before(access.updates[earlier]);
      for (const int reader : access.readers) before(reader);
    }
  }
}

}  // namespace lanescope::compile
