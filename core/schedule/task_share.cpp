// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/task_share.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace lanescope {
namespace {

class ShareMaker {
 public:
  ShareMaker(const Schedule& whole, const MachineTasks& tasks, int task, int client,
             const std::vector<JointParts>& joint)
      : whole_(whole),
        tasks_(tasks),
        task_(task),
        client_(client),
        joint_(joint),
        joint_of_(whole.commands.size(), -1),
        own_(whole.commands.size()) {
    part_.task = task;
    for (size_t j = 0; j < joint.size(); ++j) {
      for (const CommandId c : joint[j].commands) joint_of_[c] = static_cast<int>(j);
    }
  }

  TaskShare Make() {
    FindEnds();
    FindPhases();
    FindSignals();
    first_meeting_ = part_.num_messages;
    part_.num_messages += static_cast<int>(joint_.size());
    TakeMemory();
    TakeQueues();
    TakeCommands();
    TakeDependencies();
    return std::move(part_);
  }

 private:
  // A dependency that no copy carries: whatever `waiters` name waits for `after`.
  struct Signal {
    int message = -1;
    int from = 0, to = 0;
    std::vector<CommandId> waiters;
    CommandId own;  // its end in this share
  };

  void FindEnds() {
    for (const CommandId c : whole_.commands.ids()) {
      ends_.Add(EndsOf(whole_, tasks_, c));
      message_.Add(ends_[c].from != ends_[c].to ? part_.num_messages++ : -1);
    }
  }

  // Until no part of a joint launch is of a later phase than the launch: they meet.
  void FindPhases() {
    std::vector<int> of_joint(joint_.size(), 0);
    while (!PassPhases(&of_joint)) {
    }
  }

  // Commands are in an order that respects all dependencies, and in-order queues keep it.
  bool PassPhases(std::vector<int>* of_joint) {
    bool settled = true;
    phase_.assign(whole_.commands.size(), 0);
    IdVector<QueueId, int> last(whole_.queues.size(), 0);
    for (const CommandId c : whole_.commands.ids()) {
      int& phase = phase_[c];
      const QueueId queue = whole_.commands[c].queue;
      if (whole_.queues[queue].in_order) phase = std::max(phase, last[queue]);
      if (message_[c] >= 0) ++phase;
      if (joint_of_[c] >= 0) {
        int& together = (*of_joint)[static_cast<size_t>(joint_of_[c])];
        // A command before one part comes a message before all others.
        const bool later = phase + 1 > together;
        if (later) together = phase + 1;
        settled = settled && !later;
        phase = std::max(phase, together);
      }
      last[queue] = phase;
      for (const CommandId after : whole_.Successors(c)) {
        const int told = phase + (NeedsSignal(ends_[c], ends_[after]) ? 1 : 0);
        phase_[after] = std::max(phase_[after], told);
      }
    }
    return settled;
  }

  void FindSignals() {
    std::map<std::pair<CommandId, int>, size_t> known;
    for (const CommandId before : whole_.commands.ids()) {
      for (const CommandId after : whole_.Successors(before)) {
        if (!NeedsSignal(ends_[before], ends_[after])) continue;
        const int to = ends_[after].from;
        const auto [found, added] = known.try_emplace({before, to}, signals_.size());
        if (added) {
          signals_.push_back({part_.num_messages++, ends_[before].to, to, {}, {}});
          signals_after_[before].push_back(found->second);
        }
        signals_[found->second].waiters.push_back(after);
      }
    }
  }

  void TakeMemory() {
    share_.operands = whole_.operands;
    share_.fused = whole_.fused;
    share_.buffers = whole_.buffers;
    share_.values = whole_.values;
    for (Value& value : share_.values) {
      if (tasks_.task_of[value.device] == task_ || value.storage == Storage::kResource) continue;
      value.storage = Storage::kPlanned;
      value.buffer = -1;
      value.variable = {};
      value.alias_of = {};
      value.constant = nullptr;
    }
    share_.feeds = whole_.feeds;
    if (task_ == client_) share_.fetches = whole_.fetches;
    for (const auto& [node, device] : whole_.variables) {
      if (tasks_.task_of[device] == task_) share_.variables.emplace_back(node, device);
    }
    share_.arena_bytes = OwnBytes(whole_.arena_bytes);
    share_.persistent_bytes = OwnBytes(whole_.persistent_bytes);
    share_.peak_bytes = OwnBytes(whole_.peak_bytes);
  }
  IdVector<DeviceId, int64_t> OwnBytes(IdVector<DeviceId, int64_t> bytes) const {
    for (const DeviceId d : bytes.ids()) {
      if (tasks_.task_of[d] != task_) bytes[d] = 0;
    }
    return bytes;
  }

  // Numbers the queues that have a command here, and one for all ends of messages.
  void TakeQueues() {
    queue_.assign(whole_.queues.size(), {});
    for (const CommandId c : whole_.commands.ids()) {
      QueueId& own = queue_[whole_.commands[c].queue];
      if (ends_[c].Has(task_) && message_[c] < 0 && !own.exists())
        own = share_.queues.Add(whole_.queues[whole_.commands[c].queue]);
    }
    if (part_.num_messages == 0) return;
    part_.network = share_.queues.Add(
        {tasks_.hosts[static_cast<size_t>(task_)], QueueKind::kCopyOut, false, "network", 1});
  }

  void TakeCommands() {
    std::vector<char> met(joint_.size(), 0);
    for (const CommandId c : whole_.commands.ids()) {
      const int joint = joint_of_[c];
      if (joint >= 0 && ends_[c].Has(task_) && met[static_cast<size_t>(joint)]++ == 0) AddMeeting(joint, c);
      if (ends_[c].Has(task_)) TakeCommand(c);
      const auto signals = signals_after_.find(c);
      if (signals == signals_after_.end()) continue;
      for (const size_t s : signals->second) AddSignal(c, &signals_[s]);
    }
  }

  void TakeCommand(CommandId number) {
    Command command = whole_.commands[number];
    MessageEnd end;
    if (message_[number] >= 0) {
      const bool sends = ends_[number].from == task_;
      end = {sends ? ends_[number].to : ends_[number].from, sends, message_[number]};
    }
    // A partner in another task is told by a message.
    if (command.partner.exists()) command.partner = own_[command.partner];
    own_[number] = Add(command, end, number);
  }

  void AddSignal(CommandId after, Signal* signal) {
    if (signal->from != task_ && signal->to != task_) return;
    Command command;
    command.kind = CommandKind::kRecord;
    command.node = whole_.commands[after].node;
    command.rank = whole_.commands[after].rank;
    const bool sends = signal->from == task_;
    signal->own = Add(command, {sends ? signal->to : signal->from, sends, signal->message}, {});
  }

  // Directly before the first of the task's parts.
  void AddMeeting(int joint, CommandId first) {
    Command command;
    command.kind = CommandKind::kRecord;
    command.node = whole_.commands[first].node;
    command.rank = whole_.commands[first].rank;
    Meeting meeting;
    const JointParts& launch = joint_[static_cast<size_t>(joint)];
    meeting.gpus = launch.DevicesByRank();
    for (const DeviceId gpu : launch.devices) meeting.tasks.push_back(tasks_.task_of[gpu]);
    std::sort(meeting.tasks.begin(), meeting.tasks.end());
    meeting.tasks.erase(std::unique(meeting.tasks.begin(), meeting.tasks.end()), meeting.tasks.end());
    const auto number = static_cast<int>(part_.meetings.size());
    meets_.emplace_back(joint, Add(command, {task_, false, first_meeting_ + joint, number}, {}));
    part_.meetings.push_back(std::move(meeting));
  }

  // A meeting is after all that its parts are after, by their place in a queue too, but for what is issued
  // between the parts: that waits for nothing else.
  void TakeMeetings(std::vector<std::pair<CommandId, CommandId>>* edges) {
    IdVector<CommandId, CommandId> meeting_of(share_.commands.size());
    std::vector<std::pair<CommandId, CommandId>> more;
    for (size_t m = 0; m < meets_.size(); ++m) {
      const auto& [joint, meeting] = meets_[m];
      for (const CommandId c : joint_[static_cast<size_t>(joint)].commands) {
        if (!ends_[c].Has(task_)) continue;
        part_.meetings[m].parts.push_back(own_[c]);
        meeting_of[own_[c]] = meeting;
        more.emplace_back(meeting, own_[c]);
      }
    }
    for (const auto& [before, after] : *edges) {
      const CommandId meeting = meeting_of[after];
      if (meeting.exists() && before < meeting) more.emplace_back(before, meeting);
    }
    IdVector<QueueId, CommandId> last(share_.queues.size());
    for (const CommandId c : share_.commands.ids()) {
      if (part_.ends[c].meeting >= 0) {
        for (const CommandId part : part_.meetings[static_cast<size_t>(part_.ends[c].meeting)].parts) {
          const QueueId queue = share_.commands[part].queue;
          if (share_.queues[queue].in_order && last[queue].exists()) more.emplace_back(last[queue], c);
        }
      }
      last[share_.commands[c].queue] = c;
    }
    edges->insert(edges->end(), more.begin(), more.end());
    std::sort(edges->begin(), edges->end());
    edges->erase(std::unique(edges->begin(), edges->end()), edges->end());
  }

  CommandId Add(Command command, const MessageEnd& end, CommandId number) {
    command.queue = end.peer >= 0 ? part_.network : queue_[command.queue];
    part_.ends.Add(end);
    part_.whole.Add(number);
    part_.phase.Add(number.exists() ? phase_[number] : 0);
    return share_.commands.Add(command);
  }

  void TakeDependencies() {
    std::vector<std::pair<CommandId, CommandId>> edges;
    for (const CommandId before : whole_.commands.ids()) {
      if (!own_[before].exists()) continue;
      for (const CommandId after : whole_.Successors(before)) {
        if (own_[after].exists()) edges.emplace_back(own_[before], own_[after]);
      }
    }
    for (const auto& [before, signals] : signals_after_) {
      for (const size_t s : signals) {
        const Signal& signal = signals_[s];
        if (signal.from == task_) edges.emplace_back(own_[before], signal.own);
        if (signal.to != task_) continue;
        for (const CommandId after : signal.waiters) edges.emplace_back(signal.own, own_[after]);
      }
    }
    if (!meets_.empty()) TakeMeetings(&edges);
    share_.num_predecessors.assign(share_.commands.size(), 0);
    for (const auto& edge : edges) ++share_.num_predecessors[edge.second];
    share_.successors = MakeRows<CommandId, CommandId>(share_.commands.size(), [&](const auto& add) {
      for (const auto& [before, after] : edges) add(before, after);
    });
  }

  const Schedule& whole_;
  const MachineTasks& tasks_;
  const int task_, client_;
  const std::vector<JointParts>& joint_;
  IdVector<CommandId, int> joint_of_;             // by command of the whole; -1: of none that meets
  int first_meeting_ = 0;                         // the number of the first one's message
  std::vector<std::pair<int, CommandId>> meets_;  // of this task: joint launch, meeting
  TaskShare part_;
  Schedule& share_ = part_.schedule;
  IdVector<CommandId, TaskEnds> ends_;  // by command of the whole
  IdVector<CommandId, int> message_;    // likewise; -1: its ends are in one task
  IdVector<CommandId, int> phase_;      // likewise
  IdVector<CommandId, CommandId> own_;  // likewise: its number here
  IdVector<QueueId, QueueId> queue_;    // by queue of the whole
  std::vector<Signal> signals_;
  std::map<CommandId, std::vector<size_t>> signals_after_;
};

}  // namespace

TaskEnds EndsOf(const Schedule& schedule, const MachineTasks& tasks, CommandId number) {
  const Command& command = schedule.commands[number];
  if (command.kind == CommandKind::kCopy)
    return {tasks.task_of[schedule.CopySource(command)], tasks.task_of[schedule.CopyDestination(command)]};
  const int task = tasks.task_of[schedule.queues[command.queue].device];
  return {task, task};
}

TaskShare ShareOfTask(const Schedule& whole, const MachineTasks& tasks, int task, int client,
                      const std::vector<JointParts>& joint) {
  return ShareMaker(whole, tasks, task, client, joint).Make();
}

std::vector<int> TasksWithAPart(const Schedule& whole, const MachineTasks& tasks) {
  std::vector<bool> has_part(static_cast<size_t>(tasks.size()), false);
  for (const Command& command : whole.commands) {
    const bool copies = command.kind == CommandKind::kCopy;
    const DeviceId from = copies ? whole.CopySource(command) : whole.queues[command.queue].device;
    const DeviceId to = copies ? whole.CopyDestination(command) : from;
    has_part[static_cast<size_t>(tasks.task_of[from])] = true;
    has_part[static_cast<size_t>(tasks.task_of[to])] = true;
  }
  std::vector<int> with;
  for (int task = 0; task < tasks.size(); ++task) {
    if (has_part[static_cast<size_t>(task)]) with.push_back(task);
  }
  return with;
}

}  // namespace lanescope
