#include "study/oversubscription.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "core/schedule/cost.h"

namespace lanescope::study {
namespace {

// The share of a run's core time that may be asked for beyond the cores before it counts as oversubscribed:
// work that is put off by this much moves a step by no more than its noise.
constexpr double kTolerated = 0.01;

// A launch asks for the cores that its work can be split over, a copy for the share of a core that copies
// were measured to use.
double CoresAskedFor(const Schedule& schedule, const Machine& machine, const Command& command,
                     double copy_cores) {
  const DeviceSpec& device = machine.device(schedule.queues[command.queue].device);
  if (device.kind != DeviceKind::kHost && device.kind != DeviceKind::kVirtual) return 0;
  if (command.kind == CommandKind::kCopy) return copy_cores;
  return command.kind == CommandKind::kLaunch ? command.workers : 0;
}

}  // namespace

// Core time asked for beyond the cores, as a share of all core time of the steps. A copy that lasts longer
// than it would alone asks for less: a paced copy sleeps most of its time.
bool IsOversubscribed(const Schedule& schedule, const Machine& machine, std::span<const Event> events,
                      double copy_cores) {
  IdVector<CommandId, double> asked(schedule.commands.size());
  IdVector<CommandId, double> alone_ns(asked.size());  // of copies
  for (const CommandId c : asked.ids()) {
    const Command& command = schedule.commands[c];
    asked[c] = CoresAskedFor(schedule, machine, command, copy_cores);
    if (command.kind != CommandKind::kCopy || asked[c] == 0) continue;
    const DeviceId src = schedule.CopySource(command), dst = schedule.CopyDestination(command);
    if (src != dst)
      alone_ns[c] = static_cast<double>(CopyNs(machine, machine.RouteBetween(src, dst), command.bytes));
  }
  std::vector<std::pair<int64_t, double>> changes;
  int64_t total = 0;
  for (const Event& event : events) {
    if (event.kind == EventKind::kStep) total += event.end_ns - event.start_ns;
    if (event.kind != EventKind::kCommand) continue;
    const CommandId c = event.command;
    const auto lasted = static_cast<double>(event.end_ns - event.start_ns);
    const bool stretched = alone_ns[c] > 0 && alone_ns[c] < lasted;
    const double cores = stretched ? asked[c] * alone_ns[c] / lasted : asked[c];
    if (cores == 0) continue;
    changes.emplace_back(event.start_ns, cores);
    changes.emplace_back(event.end_ns, -cores);
  }
  std::sort(changes.begin(), changes.end());
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  double active = 0, beyond = 0;
  int64_t since = 0;
  for (const auto& [time, change] : changes) {
    beyond += std::max(0.0, active - cores) * static_cast<double>(time - since);
    active += change;
    since = time;
  }
  return beyond > kTolerated * cores * static_cast<double>(total);
}

}  // namespace lanescope::study
