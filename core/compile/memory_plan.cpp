// Gives every planned value a range of its device's arena. A range is used again only by a command that
// starts after the last use of its earlier content on every execution (HappensBefore); an element-wise op may
// overwrite an input that nobody else needs.

#include <algorithm>
#include <map>
#include <string>

#include "core/compile/draft.h"
#include "core/compile/happens_before.h"
#include "core/error.h"

namespace lanescope::compile {
namespace {

constexpr int64_t kAlignment = 256;  // of the start of every tensor, as in TensorFlow's allocator

int64_t Align(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Free ranges of one device's arena, each with the commands after which it is free.
class Arena {
 public:
  explicit Arena(const HappensBefore* order) : order_(order) {}

  // The smallest free range that fits and is surely free when `command` starts, else new memory at the end.
  int64_t Take(int64_t bytes, int command) {
    int tries = 0;
    for (auto it = free_.lower_bound({bytes, -1}); it != free_.end() && tries < kMaxTries; ++it, ++tries) {
      if (!IsFree(it->second, command)) continue;
      const auto [size, offset] = it->first;
      by_offset_.erase(offset);
      auto range = free_.extract(it);
      if (size > bytes) Insert(offset + bytes, size - bytes, std::move(range.mapped()));
      return offset;
    }
    const int64_t offset = end_;
    end_ += bytes;
    return offset;
  }

  // Neighbours that are free at the same time become one range.
  void Give(int64_t offset, int64_t bytes, std::vector<int> last_users) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes &&
        free_.at({next->second, next->first}) == last_users) {
      bytes += next->second;
      next = Remove(next);
    }
    if (next != by_offset_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == offset &&
          free_.at({previous->second, previous->first}) == last_users) {
        offset = previous->first;
        bytes += previous->second;
        Remove(previous);
      }
    }
    Insert(offset, bytes, std::move(last_users));
  }

  int64_t end() const { return end_; }

 private:
  static constexpr int kMaxTries = 24;

  bool IsFree(const std::vector<int>& last_users, int command) const {
    return std::all_of(last_users.begin(), last_users.end(),
                       [&](int user) { return order_->Before(user, command); });
  }
  void Insert(int64_t offset, int64_t bytes, std::vector<int> last_users) {
    by_offset_.emplace(offset, bytes);
    free_.emplace(std::pair(bytes, offset), std::move(last_users));
  }
  std::map<int64_t, int64_t>::iterator Remove(std::map<int64_t, int64_t>::iterator range) {
    free_.erase({range->second, range->first});
    return by_offset_.erase(range);
  }

  const HappensBefore* order_;
  std::map<std::pair<int64_t, int64_t>, std::vector<int>> free_;  // (bytes, offset) to last users
  std::map<int64_t, int64_t> by_offset_;                          // offset to bytes
  int64_t end_ = 0;
};

class Planner {
 public:
  explicit Planner(Draft* draft) : draft_(*draft), order_(CountInOrderQueues(), draft->commands.size()) {
    for (const DraftCommand& command : draft_.commands)
      order_.Add(command.after, InOrderQueue(command.queue));
    arenas_.assign(static_cast<size_t>(draft_.machine.num_devices()), Arena(&order_));
    held_.assign(static_cast<size_t>(draft_.machine.num_devices()), 0);
    CollectUsers();
  }

  void Run() {
    CountPersistent();
    for (size_t c = 0; c < draft_.commands.size(); ++c) {
      const int command = static_cast<int>(c);
      if (draft_.commands[c].kind == CommandKind::kLaunch || draft_.commands[c].kind == CommandKind::kCopy) {
        AllocateOutputs(command);
        AllocateWorkspace(command);
        Release(command);
      }
    }
    for (const Arena& arena : arenas_) draft_.arena_bytes.push_back(arena.end());
  }

 private:
  int CountInOrderQueues() {
    queue_number_.assign(draft_.queues.size(), -1);
    int count = 0;
    for (size_t q = 0; q < draft_.queues.size(); ++q) {
      if (draft_.queues[q].in_order) queue_number_[q] = count++;
    }
    return count;
  }
  int InOrderQueue(int queue) const { return queue_number_[static_cast<size_t>(queue)]; }

  // By root value: the commands that touch it, in command order, without repeats.
  void CollectUsers() {
    users_.resize(draft_.values.size());
    live_.assign(draft_.values.size(), 0);
    taken_over_.assign(draft_.values.size(), 0);
    uses_left_.assign(draft_.values.size(), 0);
    for (size_t c = 0; c < draft_.commands.size(); ++c) {
      const DraftCommand& command = draft_.commands[c];
      for (const auto* list : {&command.outputs, &command.inputs}) {
        for (const int value : *list) {
          if (value < 0) continue;
          auto& users = users_[static_cast<size_t>(draft_.Root(value))];
          if (users.empty() || users.back() != static_cast<int>(c)) users.push_back(static_cast<int>(c));
        }
      }
    }
    for (size_t v = 0; v < users_.size(); ++v) uses_left_[v] = static_cast<int>(users_[v].size());
    // What is fetched is read after the step: one use that never comes.
    for (const int fetch : draft_.fetches) ++uses_left_[static_cast<size_t>(draft_.Root(fetch))];
  }

  void CountPersistent() {
    for (const Value& value : draft_.values) {
      const bool own = value.alias_of < 0 && (value.storage == Storage::kConstant);
      if (own) held_[static_cast<size_t>(value.device)] += Align(value.bytes);
    }
    for (const auto& [node, device] : draft_.variables) {
      held_[static_cast<size_t>(device)] += Align(draft_.VariableBytes(node));
    }
  }

  bool IsPlanned(int value) const {
    return draft_.value(value).storage == Storage::kPlanned && draft_.value(value).alias_of < 0;
  }

  void AllocateOutputs(int number) {
    for (const int output : draft_.command(number).outputs) {
      if (output < 0 || !IsPlanned(output)) continue;
      Value& value = draft_.value(output);
      if (value.dtype == DataType::kString) {
        value.buffer = NewBuffer({value.device, 0, value.bytes, true});
      } else if (!TakeOverInput(number, output)) {
        value.buffer = NewBuffer({value.device, Take(value.device, Align(value.bytes), number, output),
                                  Align(value.bytes), false});
      }
      live_[static_cast<size_t>(output)] = 1;
    }
  }

  void AllocateWorkspace(int number) {
    DraftCommand& command = draft_.command(number);
    if (command.workspace_bytes <= 0) return;
    const int64_t bytes = Align(command.workspace_bytes);
    const int64_t offset = Take(command.device, bytes, number, -1);
    command.workspace = NewBuffer({command.device, offset, bytes, false});
    if (order_.InChain(number)) arenas_[static_cast<size_t>(command.device)].Give(offset, bytes, {number});
  }

  int NewBuffer(Buffer buffer) {
    draft_.buffers.push_back(buffer);
    return static_cast<int>(draft_.buffers.size()) - 1;
  }

  // Lets an element-wise op write over an input of the same size whose other users are all complete.
  bool TakeOverInput(int number, int output) {
    const DraftCommand& command = draft_.command(number);
    if (command.kind != CommandKind::kLaunch || command.outputs[0] != output) return false;
    const OpDef* def = OpRegistry::Global().Find(draft_.node(command.node).op);
    if (def == nullptr || !def->in_place) return false;
    const Value& value = draft_.value(output);
    for (const int input : command.inputs) {
      if (input < 0) continue;
      const int root = draft_.Root(input);
      const Value& source = draft_.value(root);
      if (source.storage != Storage::kPlanned || source.device != value.device || source.buffer < 0 ||
          source.dtype != value.dtype || !(draft_.value(input).shape == value.shape) ||
          !value.shape.IsExact() || uses_left_[static_cast<size_t>(root)] != 1) {
        continue;
      }
      const auto& users = users_[static_cast<size_t>(root)];
      const bool alone = std::all_of(users.begin(), users.end(),
                                     [&](int user) { return user == number || order_.Before(user, number); });
      if (!alone) continue;
      draft_.value(output).buffer = source.buffer;
      taken_over_[static_cast<size_t>(root)] = 1;
      return true;
    }
    return false;
  }

  void Release(int number) {
    const DraftCommand& command = draft_.command(number);
    roots_.clear();
    for (const auto* list : {&command.outputs, &command.inputs}) {
      for (const int value : *list) {
        if (value >= 0) roots_.push_back(draft_.Root(value));
      }
    }
    std::sort(roots_.begin(), roots_.end());
    roots_.erase(std::unique(roots_.begin(), roots_.end()), roots_.end());
    for (const int root : roots_) {
      if (--uses_left_[static_cast<size_t>(root)] > 0 || !IsPlanned(root)) continue;
      live_[static_cast<size_t>(root)] = 0;
      if (taken_over_[static_cast<size_t>(root)]) continue;  // the buffer lives on as the output's
      const Buffer& buffer = draft_.buffers[static_cast<size_t>(draft_.value(root).buffer)];
      if (buffer.strings) continue;
      auto last = LastUsers(root);
      if (!last.empty())
        arenas_[static_cast<size_t>(buffer.device)].Give(buffer.offset, buffer.bytes, std::move(last));
    }
  }

  // The users of a value that no other user follows for sure. Empty when one of them is not known to be
  // before anything: the range is never free then. At most one of a chain is among them, so the list is
  // short.
  std::vector<int> LastUsers(int root) const {
    const auto& users = users_[static_cast<size_t>(root)];
    std::vector<int> last;
    for (auto user = users.rbegin(); user != users.rend(); ++user) {
      if (!order_.InChain(*user)) return {};
      if (std::none_of(last.begin(), last.end(), [&](int later) { return order_.Before(*user, later); }))
        last.push_back(*user);
    }
    return last;
  }

  int64_t Take(int device, int64_t bytes, int number, int output) {
    Arena& arena = arenas_[static_cast<size_t>(device)];
    const int64_t offset = arena.Take(bytes, number);
    const int64_t limit = draft_.machine.device(device).memory_bytes;
    if (limit > 0 && arena.end() + held_[static_cast<size_t>(device)] > limit)
      Exhausted(device, bytes, number, output);
    return offset;
  }

  [[noreturn]] void Exhausted(int device, int64_t bytes, int number, int output) const {
    const DeviceSpec& spec = draft_.machine.device(device);
    const int64_t used =
        arenas_[static_cast<size_t>(device)].end() - bytes + held_[static_cast<size_t>(device)];
    const Node& node = draft_.node(draft_.command(number).node);
    const std::string tensor =
        output >= 0 ? draft_.graph.TensorName(draft_.value(output).source) : node.name + " (workspace)";
    const std::string shape = output >= 0 ? draft_.value(output).shape.ToString() : "";
    std::vector<std::pair<int64_t, std::string>> holders;
    for (size_t v = 0; v < live_.size(); ++v) {
      const Value& value = draft_.values[v];
      if (live_[v] && value.device == device)
        holders.emplace_back(value.bytes, draft_.graph.TensorName(value.source));
    }
    for (const auto& [variable, at] : draft_.variables) {
      if (at == device)
        holders.emplace_back(draft_.VariableBytes(variable), "variable " + draft_.node(variable).name);
    }
    std::sort(holders.rbegin(), holders.rend());
    std::string largest;
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
  std::vector<int> queue_number_;
  HappensBefore order_;
  std::vector<Arena> arenas_;
  std::vector<int64_t> held_;  // by device: variables and constants
  std::vector<std::vector<int>> users_;
  std::vector<int> uses_left_;
  std::vector<char> live_;  // by value: a root whose buffer is in use at this point of the command order
  std::vector<char> taken_over_;  // by value: its buffer has become an output's
  std::vector<int> roots_;        // of the current command; kept for its memory
};

}  // namespace

void PlanMemory(Draft* draft) { Planner(draft).Run(); }

}  // namespace lanescope::compile
