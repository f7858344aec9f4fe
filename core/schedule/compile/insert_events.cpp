// Between in-order queues a dependency is a Record on one and a Wait on the other; within one it is implied.

#include <algorithm>

#include "core/schedule/compile/draft.h"

namespace lanescope::compile {
namespace {

class EventInserter {
 public:
  explicit EventInserter(Draft* draft)
      : draft_(*draft),
        number_(draft->commands.size(), -1),
        record_(draft->commands.size(), -1),
        waited_(draft->queues.size() * draft->queues.size(), -1) {}

  void Run() {
    const std::vector<char> recorded = FindRecorded();
    for (int c = 0; c < draft_.num_commands(); ++c) {
      const Command& command = draft_.command(c);
      kept_.clear();
      for (const int before : draft_.after[c]) Await(command, before);
      number_[static_cast<size_t>(c)] = Append(command, kept_);
      if (recorded[static_cast<size_t>(c)])
        record_[static_cast<size_t>(c)] = Append(Event(CommandKind::kRecord, command), {});
    }
    draft_.commands = std::move(commands_);
    draft_.after = std::move(after_);
    for (int& producer : draft_.producer) {
      if (producer >= 0) producer = number_[static_cast<size_t>(producer)];
    }
  }

 private:
  bool IsInOrder(QueueId queue) const { return draft_.queues[queue].in_order; }
  bool NeedsEvent(QueueId queue, QueueId source) const {
    return queue != source && IsInOrder(queue) && IsInOrder(source);
  }

  // By command: another in-order queue waits for it.
  std::vector<char> FindRecorded() const {
    std::vector<char> recorded(draft_.commands.size(), 0);
    for (int c = 0; c < draft_.num_commands(); ++c) {
      for (const int before : draft_.after[c]) {
        if (NeedsEvent(draft_.command(c).queue, draft_.command(before).queue))
          recorded[static_cast<size_t>(before)] = 1;
      }
    }
    return recorded;
  }

  // Turns one dependency into a Wait, or keeps it, or drops it where the queues imply it.
  void Await(const Command& command, int before) {
    const QueueId source = draft_.command(before).queue;
    if (source == command.queue && IsInOrder(source)) return;
    if (!NeedsEvent(command.queue, source)) {
      kept_.push_back(number_[static_cast<size_t>(before)]);
      return;
    }
    int& last = waited_[command.queue.index() * draft_.queues.size() + source.index()];
    if (last >= before) return;
    last = before;
    Command wait = Event(CommandKind::kWait, command);
    wait.partner = record_[static_cast<size_t>(before)];
    Append(wait, {&wait.partner, 1});
  }

  static Command Event(CommandKind kind, const Command& of) {
    Command event;
    event.kind = kind;
    event.node = of.node;
    event.queue = of.queue;
    return event;
  }

  int Append(const Command& command, std::span<const int> after) {
    commands_.push_back(command);
    commands_.back().rank = static_cast<int>(commands_.size()) - 1;
    for (const int before : after) after_.Append(before);
    after_.EndRow();
    return static_cast<int>(commands_.size()) - 1;
  }

  Draft& draft_;
  std::vector<Command> commands_;  // the new list, and what its commands wait for
  Rows<> after_;
  std::vector<int> number_;  // by old number: the new one
  std::vector<int> record_;  // by old number: its Record, by the new number
  // By (waiting queue, source queue): the last command of the source, by its old number, that the queue has
  // waited for already.
  std::vector<int> waited_;
  std::vector<int> kept_;  // of the current command: what stays a plain dependency
};

}  // namespace

void InsertEvents(Draft* draft) {
  const bool any = std::any_of(draft->queues.begin(), draft->queues.end(),
                               [](const Queue& queue) { return queue.in_order; });
  if (any) EventInserter(draft).Run();
}

}  // namespace lanescope::compile
