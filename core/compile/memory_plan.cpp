// Gives every planned value a range of its device's arena. A range is used again only by a command that
// starts after the last use of its earlier content on every execution (HappensBefore); an element-wise op may
// overwrite an input that nobody else needs.

#include <algorithm>
#include <map>
#include <set>
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
  struct Range {
    int64_t offset = 0;
    int64_t bytes = 0;
    std::vector<int> last_users;
  };

  explicit Arena(const HappensBefore* order) : order_(order) {}

  // The smallest free range that fits and is surely free when `command` starts, else new memory at the end.
  int64_t Take(int64_t bytes, int command) {
    int tries = 0;
    for (auto it = by_size_.lower_bound({bytes, -1}); it != by_size_.end() && tries < kMaxTries;
         ++it, ++tries) {
      const auto range = free_.find(it->second);
      if (!IsFree(range->second, command)) continue;
      Range taken = range->second;
      by_size_.erase(it);
      free_.erase(range);
      if (taken.bytes > bytes) Insert({taken.offset + bytes, taken.bytes - bytes, taken.last_users});
      return taken.offset;
    }
    const int64_t offset = end_;
    end_ += bytes;
    return offset;
  }

  void Give(Range range) {
    // Neighbours that are free at the same time become one range.
    const auto next = free_.find(range.offset + range.bytes);
    if (next != free_.end() && next->second.last_users == range.last_users) {
      range.bytes += next->second.bytes;
      by_size_.erase({next->second.bytes, next->second.offset});
      free_.erase(next);
    }
    auto previous = free_.lower_bound(range.offset);
    if (previous != free_.begin() && (--previous)->second.offset + previous->second.bytes == range.offset &&
        previous->second.last_users == range.last_users) {
      range.bytes += previous->second.bytes;
      range.offset = previous->second.offset;
      by_size_.erase({previous->second.bytes, previous->second.offset});
      free_.erase(previous);
    }
    Insert(std::move(range));
  }

  int64_t end() const { return end_; }

 private:
  static constexpr int kMaxTries = 24;

  bool IsFree(const Range& range, int command) const {
    return std::all_of(range.last_users.begin(), range.last_users.end(),
                       [&](int user) { return order_->Before(user, command); });
  }
  void Insert(Range range) {
    by_size_.insert({range.bytes, range.offset});
    const int64_t offset = range.offset;
    free_.emplace(offset, std::move(range));
  }

  const HappensBefore* order_;
  std::map<int64_t, Range> free_;                  // by offset
  std::set<std::pair<int64_t, int64_t>> by_size_;  // (bytes, offset)
  int64_t end_ = 0;
};

class Planner {
 public:
  explicit Planner(Draft* draft) : draft_(*draft), order_(CountInOrderQueues()) {
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
      live_.insert(output);
    }
  }

  void AllocateWorkspace(int number) {
    DraftCommand& command = draft_.command(number);
    if (command.workspace_bytes <= 0) return;
    const int64_t bytes = Align(command.workspace_bytes);
    const int64_t offset = Take(command.device, bytes, number, -1);
    command.workspace = NewBuffer({command.device, offset, bytes, false});
    arenas_[static_cast<size_t>(command.device)].Give({offset, bytes, {number}});
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
      taken_over_.insert(root);
      return true;
    }
    return false;
  }

  void Release(int number) {
    const DraftCommand& command = draft_.command(number);
    std::vector<int> roots;
    for (const auto* list : {&command.outputs, &command.inputs}) {
      for (const int value : *list) {
        if (value >= 0) roots.push_back(draft_.Root(value));
      }
    }
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    for (const int root : roots) {
      if (--uses_left_[static_cast<size_t>(root)] > 0 || !IsPlanned(root)) continue;
      live_.erase(root);
      if (taken_over_.count(root) > 0) continue;  // the buffer lives on as the output's
      const Buffer& buffer = draft_.buffers[static_cast<size_t>(draft_.value(root).buffer)];
      if (!buffer.strings)
        arenas_[static_cast<size_t>(buffer.device)].Give({buffer.offset, buffer.bytes, LastUsers(root)});
    }
  }

  // The users of a value that no other user follows for sure.
  std::vector<int> LastUsers(int root) const {
    const auto& users = users_[static_cast<size_t>(root)];
    std::vector<int> last;
    for (size_t i = 0; i < users.size(); ++i) {
      const bool followed = std::any_of(users.begin() + static_cast<ptrdiff_t>(i) + 1, users.end(),
                                        [&](int later) { return order_.Before(users[i], later); });
      if (!followed) last.push_back(users[i]);
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
    for (const int value : live_) {
      if (draft_.value(value).device == device)
        holders.emplace_back(draft_.value(value).bytes, draft_.graph.TensorName(draft_.value(value).source));
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
  std::set<int> live_;  // root values whose buffer is in use at this point of the command order
  std::set<int> taken_over_;
};

}  // namespace

void PlanMemory(Draft* draft) { Planner(draft).Run(); }

}  // namespace lanescope::compile
