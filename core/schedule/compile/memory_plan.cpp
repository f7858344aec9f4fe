// SPDX-License-Identifier: Apache-2.0
// Gives every planned value a range of its device's arena. A range is used again only by a command that
// starts after the last use of its earlier content on every execution (HappensBefore); an element-wise op may
// overwrite an input that nobody else needs.

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/base/units.h"
#include "core/schedule/compile/arena.h"
#include "core/schedule/compile/draft.h"
#include "core/schedule/compile/happens_before.h"
#include "core/schedule/fusion.h"
#include "core/schedule/row_products.h"
#include "core/schedule/run_order.h"

namespace lanescope::compile {
namespace {

constexpr int64_t kAlignment = 256;  // of the start of every tensor, as in TensorFlow's allocator

int64_t Align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Planner {
 public:
  explicit Planner(Draft* draft) : draft_(*draft), order_(CountInOrderQueues(), draft->commands.size()) {
    arenas_.assign(draft_.machine.devices.size(), Arena(&order_));
    held_.assign(draft_.machine.devices.size(), 0);
    draft_.persistent_bytes.assign(held_.size(), 0);
    CountVariables();
    ReadValues();
    CollectUsers();
  }

  void Run() {
    draft_.buffers.reserve(draft_.commands.size());
    for (const CommandId c : draft_.commands.ids()) {
      StopPoint();
      order_.Add(draft_.after[c], InOrderQueue(draft_.command(c).queue));
      if (!draft_.command(c).is_work()) continue;
      AllocateOutputs(c);
      Release(c);
    }
    for (const ValueId alias : aliases_) draft_.value(alias).buffer = draft_.value(draft_.Root(alias)).buffer;
    for (const Arena& arena : arenas_) draft_.arena_bytes.Add(arena.end());
  }

 private:
  // A planned value that is no alias, at the current point of the command order.
  struct Root {
    DeviceId device;
    int buffer = -1;  // -1: not written yet
    int block = -1;   // of the device's arena; -1 for strings and for what has no elements
    bool live = false;
    bool taken_over = false;  // its buffer has become an output's
  };

  int CountInOrderQueues() {
    queue_number_.assign(draft_.queues.size(), -1);
    int count = 0;
    for (const QueueId q : draft_.queues.ids()) {
      if (RunsByRank(draft_.queues, q)) queue_number_[q] = count++;
    }
    return count;
  }
  int InOrderQueue(QueueId queue) const { return queue_number_[queue]; }

  void CountPersistent(DeviceId device, int64_t bytes) {
    draft_.persistent_bytes[device] += bytes;
    held_[device] += Align(bytes);
  }

  void CountVariables() {
    for (const auto& [node, device] : draft_.variables) CountPersistent(device, draft_.VariableBytes(node));
  }

  // All that this pass and the final schedule want of every value, in one go: together they are large.
  void ReadValues() {
    planned_root_.reserve(draft_.values.size());
    for (const ValueId v : draft_.values.ids()) {
      Value& value = draft_.value(v);
      if (value.alias_of.exists()) {
        value.alias_of = draft_.Root(v);
        aliases_.push_back(v);
      } else if (value.storage == Storage::kConstant) {
        CountPersistent(value.device, value.bytes);
      }
      const ValueId root = draft_.Root(v);
      planned_root_.Add(draft_.value(root).storage == Storage::kPlanned ? root : ValueId());
    }
  }
  ValueId PlannedRoot(ValueId value) const { return planned_root_[value]; }

  void CollectUsers() {
    touched_.items.reserve(draft_.operands.size());
    touched_.first.reserve(draft_.commands.size() + 1);
    for (const Command& command : draft_.commands) {
      for (const auto& operands : {draft_.Inputs(command), draft_.Outputs(command)}) {
        for (const ValueId value : operands) {
          if (PlannedRoot(value).exists()) touched_.Append(PlannedRoot(value));
        }
      }
      touched_.SortOpenRow();
      touched_.EndRow();
    }
    users_ = Transpose(touched_, draft_.values.size());
    uses_left_.reserve(users_.size());
    for (const ValueId v : draft_.values.ids()) uses_left_.Add(static_cast<int>(users_[v].size()));
    // A fetch is read after the step: one use that never comes.
    for (const ValueId fetch : draft_.fetches) ++UsesLeft(draft_.Root(fetch));
    roots_.resize(draft_.values.size());
  }
  int& UsesLeft(ValueId value) { return uses_left_[value]; }
  Root& RootOf(ValueId value) { return roots_[value]; }

  void AllocateOutputs(CommandId number) {
    for (const ValueId output : draft_.Outputs(draft_.command(number))) {
      if (PlannedRoot(output) != output) continue;
      Value& value = draft_.value(output);
      Root& root = RootOf(output);
      root.device = value.device;
      if (value.dtype == DataType::kString) {
        root.buffer = static_cast<int>(draft_.buffers.size());
        draft_.buffers.push_back({value.device, 0, value.bytes, true});
      } else if (value.bytes == 0) {
        root.buffer = static_cast<int>(draft_.buffers.size());
        draft_.buffers.push_back({value.device, 0, 0, false});
      } else if (Root* input = OverwritableInput(number, output); input != nullptr) {
        input->taken_over = true;
        root.buffer = input->buffer;
        root.block = input->block;
      } else {
        root.block = Take(value.device, Align(value.bytes), number, output);
        root.buffer = NewBuffer(value.device, root.block, Align(value.bytes));
      }
      root.live = true;
      value.buffer = root.buffer;
    }
  }

  // An input whose memory an element-wise op may write its output to: of the same size, with all its other
  // users complete. Null if there is none.
  Root* OverwritableInput(CommandId number, ValueId output) {
    const Command& command = draft_.command(number);
    if (command.fused >= 0) return OverwritableByFused(number, output);
    const OpDef* def = draft_.LaunchedOp(command);
    if (def == nullptr || !def->in_place || draft_.Outputs(command)[0] != output) return nullptr;
    const Value& value = draft_.value(output);
    for (const ValueId input : draft_.Inputs(command)) {
      if (!PlannedRoot(input).exists() || UsesLeft(PlannedRoot(input)) != 1) continue;
      Root& root = RootOf(PlannedRoot(input));
      if (root.device != value.device || root.buffer < 0) continue;
      const auto users = users_[PlannedRoot(input)];
      const bool alone = std::all_of(users.begin(), users.end(), [&](CommandId user) {
        return user == number || order_.Before(user, number);
      });
      const Value& source = draft_.value(input);
      if (alone && source.dtype == value.dtype && source.shape == value.shape && value.shape.IsExact())
        return &root;
    }
    return nullptr;
  }

  // Likewise for a launch of several nodes. Block by block the node that writes the output comes after all
  // that read the input, and each of them reads the elements of its block alone.
  Root* OverwritableByFused(CommandId number, ValueId output) {
    const Command& command = draft_.command(number);
    const auto& nodes = draft_.fused[static_cast<size_t>(command.fused)].nodes;
    const auto inputs = draft_.Inputs(command), outputs = draft_.Outputs(command);
    const std::vector<int> group = BlockGroups(draft_.graph, nodes);
    const auto index = static_cast<int>(std::ranges::find(outputs, output) - outputs.begin());
    const auto writer = static_cast<size_t>(
        std::ranges::find_if(nodes, [&](const FusedNode& node) { return node.output == index; }) -
        nodes.begin());
    const Value& value = draft_.value(output);
    // Products read the other factor whole for every block.
    if (MatricesOfLaunch(draft_.graph, nodes)) return nullptr;
    // The smaller of results of two sizes is broadcast.
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (group[i] == group[writer] && nodes[i].shape.NumElements() > value.shape.NumElements())
        return nullptr;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId planned = PlannedRoot(inputs[i]);
      if (!planned.exists() || UsesLeft(planned) != 1) continue;
      Root& root = RootOf(planned);
      const Value& source = draft_.value(inputs[i]);
      if (root.device != value.device || root.buffer < 0 || root.taken_over || source.dtype != value.dtype ||
          source.shape.NumElements() != value.shape.NumElements())
        continue;
      // Under another shape it would be another input.
      const bool named_once =
          std::ranges::count_if(inputs, [&](ValueId v) { return PlannedRoot(v) == planned; }) == 1;
      const bool reads_itself =
          std::ranges::find(nodes[writer].inputs, static_cast<int>(i)) != nodes[writer].inputs.end();
      bool before = named_once && (!reads_itself || draft_.op(nodes[writer].node).def->in_place);
      for (size_t reader = 0; reader < nodes.size(); ++reader) {
        if (std::ranges::find(nodes[reader].inputs, static_cast<int>(i)) == nodes[reader].inputs.end())
          continue;
        before = before && reader <= writer && group[reader] == group[writer];
      }
      const auto users = users_[planned];
      const bool alone = std::ranges::all_of(
          users, [&](CommandId user) { return user == number || order_.Before(user, number); });
      if (before && alone) return &root;
    }
    return nullptr;
  }

  // Frees what the command was the last one to use.
  void Release(CommandId number) {
    for (const ValueId id : touched_[number]) {
      if (--UsesLeft(id) > 0) continue;
      Root& root = RootOf(id);
      root.live = false;
      // A buffer that was taken over lives on as the output's.
      if (root.taken_over || root.block < 0) continue;
      FindLastUsers(id);
      if (!last_places_.empty()) arenas_[root.device].Give(root.block, last_places_);
    }
  }

  // The users of a value that no other user follows for sure, in last_, with their places in last_places_.
  // None when one of them is not known to be before anything: the range is never free then. At most one of a
  // chain is among them, so the list is short.
  void FindLastUsers(ValueId root) {
    last_places_.clear();
    last_.clear();
    auto users = users_[root];
    if (!std::all_of(users.begin(), users.end(), [&](CommandId user) { return order_.InChain(user); }))
      return;
    if (users.size() > 1) users = users.subspan(1);  // the first one writes the value that the others read
    for (size_t u = users.size(); u-- > 0;) {
      const HappensBefore::Place place = order_.PlaceOf(users[u]);
      if (std::any_of(last_.begin(), last_.end(),
                      [&](CommandId later) { return order_.Before(place, later); }))
        continue;
      last_.push_back(users[u]);
      last_places_.push_back(place);
    }
  }

  int NewBuffer(DeviceId device, int block, int64_t bytes) {
    draft_.buffers.push_back({device, arenas_[device].offset(block), bytes, false});
    return static_cast<int>(draft_.buffers.size()) - 1;
  }

  // A block of the device's arena; throws when the device has no room for it.
  int Take(DeviceId device, int64_t bytes, CommandId number, ValueId output) {
    Arena& arena = arenas_[device];
    const int block = arena.Take(bytes, number);
    const int64_t limit = draft_.machine.device(device).memory_bytes;
    if (limit > 0 && arena.end() + held_[device] > limit) Exhausted(device, bytes, number, output);
    return block;
  }

  [[noreturn]] void Exhausted(DeviceId device, int64_t bytes, CommandId number, ValueId output) const {
    const DeviceSpec& spec = draft_.machine.device(device);
    const int64_t used = arenas_[device].end() - bytes + held_[device];
    const Node& node = draft_.node(draft_.command(number).node);
    const std::string tensor = draft_.graph.TensorName(draft_.value(output).source);
    const std::string shape = draft_.value(output).shape.ToString();
    std::vector<std::pair<int64_t, std::string>> holders;
    for (const ValueId v : roots_.ids()) {
      const Value& value = draft_.values[v];
      if (roots_[v].live && value.device == device)
        holders.emplace_back(value.bytes, draft_.graph.TensorName(value.source));
    }
    for (const auto& [variable, at] : draft_.variables) {
      if (at == device)
        holders.emplace_back(draft_.VariableBytes(variable), "variable " + draft_.node(variable).name);
    }
    std::sort(holders.rbegin(), holders.rend());
    std::string largest = holders.empty() ? "none" : "";
    for (size_t i = 0; i < holders.size() && i < 3; ++i) {
      largest += fmt::format("{}{} {}", i == 0 ? "" : ", ", holders[i].second, FormatBytes(holders[i].first));
    }
    Throw(Code::kResourceExhausted,
          "out of memory on {}: op '{}' ({}) asks {} for tensor '{}' {}, {} of {} are free; largest holders: "
          "{}; use a smaller batch, "
          "another placement, or a larger limit in the machine file",
          spec.local_name(), node.name, node.op, FormatBytes(bytes), tensor, shape,
          FormatBytes(std::max<int64_t>(0, spec.memory_bytes - used)), FormatBytes(spec.memory_bytes),
          largest);
  }

  Draft& draft_;
  IdVector<QueueId, int> queue_number_;  // among those that run by rank, -1: none of them
  HappensBefore order_;
  IdVector<DeviceId, Arena> arenas_;
  IdVector<DeviceId, int64_t> held_;         // variables and constants, with the gaps between them
  std::vector<ValueId> aliases_;             // values that share the memory of another one
  IdVector<ValueId, ValueId> planned_root_;  // its root if that is planned
  Rows<ValueId, CommandId> touched_;         // the planned roots that it reads or writes, ascending
  Rows<CommandId, ValueId> users_;           // by planned root: the commands that touch it, ascending
  IdVector<ValueId, int>
      uses_left_;  // by planned root; apart from roots_, since most of it is looked at for this
  IdVector<ValueId, Root> roots_;
  // State of the current value, kept for its memory: its last users, and their places.
  std::vector<CommandId> last_;
  std::vector<HappensBefore::Place> last_places_;
};

}  // namespace

void PlanMemory(Draft* draft) { Planner(draft).Run(); }

}  // namespace lanescope::compile
