// SPDX-License-Identifier: Apache-2.0
#include "study/measure/oversubscription.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/machine/copy_time.h"
#include "core/machine/tasks.h"
#include "core/schedule/cost.h"

namespace lanescope::study {
namespace {

// The share of a run's core time that may be asked for beyond the cores before it counts as oversubscribed:
// work that is put off by this much moves a step by no more than its noise.
constexpr double kTolerated = 0.01;

// When how many cores more, or less, are asked for.
using Demand = std::vector<std::pair<int64_t, double>>;

// Sums the cores that the commands of a schedule ask of each host.
class Demands {
 public:
  Demands(const Schedule& schedule, const Machine& machine, const Computers& computers, double copy_cores)
      : schedule_(schedule),
        machine_(machine),
        computers_(computers),
        tasks_(TasksOf(machine)),
        asked_(schedule.commands.size()),
        alone_ns_(asked_.size()),
        demands_(computers.num_cores.size()) {
    for (const CommandId c : asked_.ids()) {
      asked_[c] = CoresAskedFor(c, copy_cores);
      if (asked_[c] > 0 && IsCopy(c)) alone_ns_[c] = CopyAloneNs(c);
    }
  }

  void Add(const Event& event) {
    const CommandId c = event.command;
    // A copy that lasts longer than it would alone asks for less: a paced copy sleeps most of its time.
    const auto lasted = static_cast<double>(event.end_ns - event.start_ns);
    const bool stretched = alone_ns_[c] > 0 && alone_ns_[c] < lasted;
    const double cores = stretched ? asked_[c] * alone_ns_[c] / lasted : asked_[c];
    if (cores == 0) return;
    const int computer = ComputerOf(QueueDevice(c));
    AddTo(computer, event, cores);
    const int receiver = IsCopy(c) ? ComputerOf(schedule_.CopyDestination(schedule_.commands[c])) : computer;
    if (receiver != computer) AddTo(receiver, event, cores);
  }

  // By computer.
  std::vector<Demand> Take() { return std::move(demands_); }

 private:
  bool IsCopy(CommandId c) const { return schedule_.commands[c].kind == CommandKind::kCopy; }
  DeviceId QueueDevice(CommandId c) const { return schedule_.queues[schedule_.commands[c].queue].device; }
  int ComputerOf(DeviceId device) const { return computers_.OfTask(tasks_.task_of[device]); }

  // A launch asks for the cores that its work can be split over, a copy for the share of a core that copies
  // were measured to use.
  double CoresAskedFor(CommandId c, double copy_cores) const {
    const DeviceSpec& device = machine_.device(QueueDevice(c));
    if (!IsOfHostThreads(device.kind)) return 0;
    if (IsCopy(c)) return copy_cores;
    const Command& command = schedule_.commands[c];
    return command.kind == CommandKind::kLaunch ? command.workers : 0;
  }

  double CopyAloneNs(CommandId c) const {
    const Command& command = schedule_.commands[c];
    const DeviceId src = schedule_.CopySource(command), dst = schedule_.CopyDestination(command);
    if (src == dst) return 0;
    return static_cast<double>(CopyNs(machine_, machine_.RouteBetween(src, dst), command.bytes));
  }

  void AddTo(int computer, const Event& event, double cores) {
    Demand& demand = demands_[static_cast<size_t>(computer)];
    demand.emplace_back(event.start_ns, cores);
    demand.emplace_back(event.end_ns, -cores);
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const Computers& computers_;
  const MachineTasks tasks_;
  IdVector<CommandId, double> asked_;
  IdVector<CommandId, double> alone_ns_;  // of copies
  std::vector<Demand> demands_;
};

double CoreTimeBeyond(Demand demand, double cores) {
  std::sort(demand.begin(), demand.end());
  double active = 0, beyond = 0;
  int64_t since = 0;
  for (const auto& [time, change] : demand) {
    beyond += std::max(0.0, active - cores) * static_cast<double>(time - since);
    active += change;
    since = time;
  }
  return beyond;
}

}  // namespace

// Core time asked for beyond a computer's cores, as a share of all its core time of the steps.
bool IsOversubscribed(const Schedule& schedule, const Machine& machine, const Computers& computers,
                      std::span<const Event> events, double copy_cores) {
  Demands demands(schedule, machine, computers, copy_cores);
  int64_t total = 0;
  for (const Event& event : events) {
    if (event.kind == EventKind::kStep) total += event.end_ns - event.start_ns;
    if (event.kind == EventKind::kCommand) demands.Add(event);
  }
  std::vector<Demand> by_computer = demands.Take();
  for (size_t computer = 0; computer < by_computer.size(); ++computer) {
    const double cores = computers.num_cores[computer];
    if (CoreTimeBeyond(std::move(by_computer[computer]), cores) >
        kTolerated * cores * static_cast<double>(total))
      return true;
  }
  return false;
}

}  // namespace lanescope::study
