// SPDX-License-Identifier: Apache-2.0
#include "traces/read/recorded_schedule.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/graph/work_pieces.h"
#include "core/schedule/fusion.h"
#include "core/schedule/stream_issue.h"

namespace lanescope::traces {
namespace {

// The trace numbers devices in its own way; names tell which is which.
class DenseDevices {
 public:
  DenseDevices(const TraceRun& run, const Machine& machine) {
    numbers_[kHostDevice] = machine.host();
    for (const TraceDevice& device : run.devices) numbers_[device.id] = machine.FindDevice(device.name);
  }
  // `what`: "command", "queue".
  DeviceId Of(std::string_view what, int id, int device) const {
    const auto found = numbers_.find(device);
    if (found == numbers_.end() || !found->second.exists())
      Throw(Code::kDataLoss, "{} {} is on a device that the run's machine lacks", what, id);
    return found->second;
  }

 private:
  std::map<int, DeviceId> numbers_;
};

// A tensor of so many bytes.
int AddEnd(DeviceId device, int64_t bytes, Schedule* schedule) {
  Value value;
  value.device = device;
  value.dtype = DataType::kUint8;
  value.shape = Shape({bytes});
  value.bytes = bytes;
  schedule->operands.push_back(schedule->values.Add(std::move(value)));
  return static_cast<int>(schedule->operands.size()) - 1;
}

void AddCommands(const TraceRun& run, int number, const Machine& machine, RecordedSchedule* recorded) {
  const DenseDevices devices(run, machine);
  std::map<int, std::string> op_of_node;
  for (const TraceNode& node : run.nodes) op_of_node.emplace(node.id, node.op);
  Schedule& schedule = recorded->schedule;
  std::map<int, QueueId> queues;  // the trace's queue number -> its place here
  for (const TraceQueue& from : run.queues) {
    if (from.schedule != number) continue;
    const QueueId queue = schedule.queues.Add(
        {devices.Of("queue", from.id, from.device), from.kind, from.in_order, from.name, from.workers});
    queues.emplace(from.id, queue);
  }
  const bool has_streams =
      std::ranges::any_of(schedule.queues, [&](const Queue& queue) { return IsStream(queue, machine); });
  for (const TraceCommand& from : run.commands) {
    if (from.schedule != number) continue;
    if (from.id != static_cast<int>(schedule.commands.size()))
      Throw(Code::kDataLoss, "the run's commands are not numbered one after the other at {}", from.id);
    Command command;
    command.kind = from.kind;
    const auto queue = queues.find(from.queue);
    if (queue == queues.end()) Throw(Code::kDataLoss, "command {} is on a queue that the run lacks", from.id);
    command.queue = queue->second;
    command.node = NodeId(from.node);
    command.rank = from.rank;
    command.bytes = from.bytes;
    SignedWork work;
    if (from.kind == CommandKind::kCopy) {
      command.inputs = AddEnd(devices.Of("command", from.id, from.src), from.bytes, &schedule);
      command.outputs = AddEnd(devices.Of("command", from.id, from.dst), from.bytes, &schedule);
      command.num_inputs = command.num_outputs = 1;
    } else if (from.kind == CommandKind::kLaunch && from.signature >= 0) {
      const auto op = op_of_node.find(from.node);
      work = {run.Text(from.signature), op == op_of_node.end() ? "" : op->second, {from.flops, from.bytes}};
      if (const std::string fused = FusedOpOf(work.signature); !fused.empty()) work.op = fused;
      command.workers =
          WorkersFor(work.work, LaunchWorkers(machine.device(schedule.queues[command.queue].device)));
    }
    if (has_streams) {
      const auto op = op_of_node.find(from.node);
      const std::string_view name = op == op_of_node.end() ? std::string_view() : op->second;
      const std::string signature = from.signature >= 0 ? run.Text(from.signature) : "";
      schedule.issue.Add(IsStream(schedule.queues[command.queue], machine)
                             ? StreamIssueOf(from.kind, name, signature)
                             : StreamIssue::kSingle);
      if (from.kind == CommandKind::kCopy && name == "Placeholder")
        schedule.values[schedule.operands[static_cast<size_t>(command.inputs)]].storage = Storage::kFeed;
    }
    schedule.commands.Add(command);
    recorded->work.Add(std::move(work));
  }
}

void AddDependencies(const TraceRun& run, int number, Schedule* schedule) {
  const size_t size = schedule->commands.size();
  schedule->num_predecessors.assign(size, 0);
  for (const TraceDependency& edge : run.dependencies) {
    if (edge.schedule != number) continue;
    if (edge.from < 0 || edge.to <= edge.from || static_cast<size_t>(edge.to) >= size)
      Throw(Code::kDataLoss, "a dependency of the run names a command that it lacks");
    ++schedule->num_predecessors[CommandId(edge.to)];
  }
  schedule->successors = MakeRows<CommandId, CommandId>(size, [&](const auto& add) {
    for (const TraceDependency& edge : run.dependencies) {
      if (edge.schedule == number) add(CommandId(edge.from), CommandId(edge.to));
    }
  });
}

std::vector<Event> EventsOf(const TraceRun& run, int number, size_t commands) {
  std::vector<Event> events;
  std::unordered_set<int> left_out;
  for (const TraceStep& step : run.steps) {
    if (!step.counts) left_out.insert(step.step);
  }
  const auto add = [&](const auto& activity, int64_t bytes) {
    if (activity.schedule != number || activity.command < 0 || left_out.count(activity.step) > 0) return;
    if (static_cast<size_t>(activity.command) >= commands)
      Throw(Code::kDataLoss, "an activity of the run names a command that it lacks");
    events.push_back({activity.start_ns, activity.end_ns, bytes, CommandId(activity.command), activity.step,
                      number, EventKind::kCommand});
  };
  for (const TraceLaunch& launch : run.launches) add(launch, 0);
  for (const TraceCopy& copy : run.copies) add(copy, copy.bytes);
  for (const TraceStep& step : run.steps) {
    if (step.counts)
      events.push_back({step.start_ns, step.end_ns, 0, CommandId(), step.step, number, EventKind::kStep});
  }
  return events;
}

}  // namespace

RecordedSchedule ReadSchedule(const TraceRun& run, int number, const Machine& machine) {
  RecordedSchedule recorded;
  AddCommands(run, number, machine, &recorded);
  AddDependencies(run, number, &recorded.schedule);
  recorded.events = EventsOf(run, number, recorded.schedule.commands.size());
  return recorded;
}

int NumSchedules(const TraceRun& run) {
  int last = -1;
  for (const TraceCommand& command : run.commands) last = std::max(last, command.schedule);
  return last + 1;
}

}  // namespace lanescope::traces
