#include "sims/critical_path.h"

#include <algorithm>

namespace lanescope {
namespace {

bool IsWork(const Command& command) {
  return command.kind == CommandKind::kLaunch || command.kind == CommandKind::kCopy;
}

class PathWalker {
 public:
  PathWalker(const Schedule& schedule, const Machine& machine, const SimulationResult& result,
             const GapModel& gaps)
      : schedule_(schedule), machine_(machine), result_(result), gaps_(gaps) {}

  // The command that `command` waited for last; -1: the beginning of the step.
  int Before(int command) const {
    const CommandTime& time = result_.times[static_cast<size_t>(command)];
    if (time.previous < 0) return time.released;
    if (time.released < 0) return time.previous;
    return FreeAfter(time.previous) > ReadyAfter(time.released, command) ? time.previous : time.released;
  }

 private:
  const Queue& QueueOf(int command) const {
    return schedule_.queues[static_cast<size_t>(schedule_.commands[static_cast<size_t>(command)].queue)];
  }
  int64_t End(int command) const { return result_.times[static_cast<size_t>(command)].end_ns; }
  int64_t FreeAfter(int command) const {
    const Queue& queue = QueueOf(command);
    if (!IsWork(schedule_.commands[static_cast<size_t>(command)])) return End(command);
    return End(command) + gaps_.gap(machine_.device(queue.device).kind, LaneOf(queue.kind));
  }
  int64_t ReadyAfter(int released, int command) const {
    const Queue& from = QueueOf(released);
    const Queue& to = QueueOf(command);
    return End(released) + (&from == &to ? 0 : gaps_.handoff(LaneOf(from.kind), LaneOf(to.kind)));
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const SimulationResult& result_;
  const GapModel& gaps_;
};

}  // namespace

CriticalPath FindCriticalPath(const Schedule& schedule, const Machine& machine,
                              const SimulationResult& result, const GapModel& gaps) {
  CriticalPath path;
  path.launch_ns_by_device.assign(static_cast<size_t>(machine.num_devices()), 0);
  const PathWalker walker(schedule, machine, result, gaps);
  int last = -1;
  for (size_t c = 0; c < result.times.size(); ++c) {
    if (last < 0 || result.times[c].end_ns > result.times[static_cast<size_t>(last)].end_ns) {
      last = static_cast<int>(c);
    }
  }
  for (int c = last; c >= 0; c = walker.Before(c)) {
    const Command& command = schedule.commands[static_cast<size_t>(c)];
    const CommandTime& time = result.times[static_cast<size_t>(c)];
    const int64_t ns = time.end_ns - time.start_ns;
    path.commands.push_back(c);
    if (command.kind == CommandKind::kCopy) {
      path.copy_ns += ns;
    } else if (command.kind == CommandKind::kLaunch) {
      const int device = schedule.queues[static_cast<size_t>(command.queue)].device;
      path.launch_ns += ns;
      path.launch_ns_by_device[static_cast<size_t>(device)] += ns;
    }
  }
  std::reverse(path.commands.begin(), path.commands.end());
  path.overhead_ns = result.step_ns - path.launch_ns - path.copy_ns;
  return path;
}

}  // namespace lanescope
