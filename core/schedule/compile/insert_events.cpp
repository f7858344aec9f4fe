// SPDX-License-Identifier: Apache-2.0
// Between in-order queues a dependency is a Record on one and a Wait on the other; within one it is implied.

#include <algorithm>

#include "core/base/stop_point.h"
#include "core/schedule/compile/draft.h"

namespace lanescope::compile {
namespace {

class EventInserter {
 public:
  explicit EventInserter(Draft* draft)
      : draft_(*draft),
        number_(draft->commands.size()),
        record_(draft->commands.size()),
        waited_(draft->queues.size() * draft->queues.size()) {}

  void Run() {
    const IdVector<CommandId, char> recorded = FindRecorded();
    for (const CommandId c : draft_.commands.ids()) {
      StopPoint();
      const Command& command = draft_.command(c);
      kept_.clear();
      for (const CommandId before : draft_.after[c]) Await(command, before);
      number_[c] = Append(command, kept_);
      if (recorded[c]) record_[c] = Append(Event(CommandKind::kRecord, command), {});
    }
    draft_.commands = std::move(commands_);
    draft_.after = std::move(after_);
    for (CommandId& producer : draft_.producer) {
      if (producer.exists()) producer = number_[producer];
    }
  }

 private:
  bool IsInOrder(QueueId queue) const { return draft_.queues[queue].in_order; }
  bool NeedsEvent(QueueId queue, QueueId source) const {
    return queue != source && IsInOrder(queue) && IsInOrder(source);
  }

  // By command: another in-order queue waits for it.
  IdVector<CommandId, char> FindRecorded() const {
    IdVector<CommandId, char> recorded(draft_.commands.size(), 0);
    for (const CommandId c : draft_.commands.ids()) {
      for (const CommandId before : draft_.after[c]) {
        if (NeedsEvent(draft_.command(c).queue, draft_.command(before).queue)) recorded[before] = 1;
      }
    }
    return recorded;
  }

  // Turns one dependency into a Wait, or keeps it, or drops it where the queues imply it.
  void Await(const Command& command, CommandId before) {
    const QueueId source = draft_.command(before).queue;
    if (source == command.queue && IsInOrder(source)) return;
    if (!NeedsEvent(command.queue, source)) {
      kept_.push_back(number_[before]);
      return;
    }
    CommandId& last = waited_[command.queue.index() * draft_.queues.size() + source.index()];
    if (last >= before) return;
    last = before;
    Command wait = Event(CommandKind::kWait, command);
    wait.partner = record_[before];
    Append(wait, {&wait.partner, 1});
  }

  static Command Event(CommandKind kind, const Command& of) {
    Command event;
    event.kind = kind;
    event.node = of.node;
    event.queue = of.queue;
    return event;
  }

  CommandId Append(const Command& command, std::span<const CommandId> after) {
    const CommandId number = commands_.Add(command);
    commands_[number].rank = number.number();
    for (const CommandId before : after) after_.Append(before);
    after_.EndRow();
    return number;
  }

  Draft& draft_;
  IdVector<CommandId, Command> commands_;  // the new list, and what its commands wait for
  Rows<CommandId, CommandId> after_;
  IdVector<CommandId, CommandId> number_;  // by old number: the new one
  IdVector<CommandId, CommandId> record_;  // by old number: its Record, by the new number
  // By (waiting queue, source queue): the last command of the source, by its old number, that the queue has
  // waited for already.
  std::vector<CommandId> waited_;
  std::vector<CommandId> kept_;  // of the current command: what stays a plain dependency
};

}  // namespace

void InsertEvents(Draft* draft) {
  const bool any = std::any_of(draft->queues.begin(), draft->queues.end(),
                               [](const Queue& queue) { return queue.in_order; });
  if (any) EventInserter(draft).Run();
}

}  // namespace lanescope::compile
