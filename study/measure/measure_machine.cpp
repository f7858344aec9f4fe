// SPDX-License-Identifier: Apache-2.0
#include "study/measure/measure_machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/units.h"
#include "core/machine/tasks.h"
#include "sims/cost/device_speed.h"
#include "study/job/computers.h"
#include "study/job/serving.h"
#include "study/job/this_machine.h"
#include "study/measure/task_measurement.h"

namespace lanescope::study {
namespace {

// An interface carries what its tasks send or receive all at once, and never less than the fastest of its
// links does.
void RateNics(const MachineTasks& tasks, exec::Transport* transport, Machine* machine) {
  constexpr double kSeconds = 0.05;  // that all its messages take about, at the pace of that link
  constexpr int64_t kLeastBytes = 64 << 10, kMostBytes = 16 << 20;
  for (NicSpec& nic : machine->nics) {
    const auto is_of = [&](DeviceId host) { return std::ranges::find(nic.hosts, host) != nic.hosts.end(); };
    double fastest = 0;
    for (const LinkSpec& link : machine->links) {
      if (is_of(link.a) != is_of(link.b)) fastest = std::max(fastest, link.bandwidth);
    }
    std::vector<int> inside;
    for (int task = 0; task < tasks.size(); ++task) {
      if (is_of(tasks.hosts[static_cast<size_t>(task)])) inside.push_back(task);
    }
    const size_t messages = inside.size() * (static_cast<size_t>(tasks.size()) - inside.size());
    if (messages > 1) {
      const auto bytes = static_cast<int64_t>(fastest * kSeconds / static_cast<double>(messages));
      const auto rate = [&](bool receives) {
        return exec::MeasureInterface(transport, inside, receives,
                                      std::clamp(bytes, kLeastBytes, kMostBytes));
      };
      const double out = rate(false), in = rate(true);
      fastest = std::max(fastest, std::min(out, in));
    }
    if (fastest > 0) nic.bandwidth = fastest;
  }
}

// Larger copies never take less, whatever one measurement says.
void AddRow(int64_t bytes, int64_t ns, std::vector<std::pair<int64_t, int64_t>>* table) {
  table->emplace_back(bytes, table->empty() ? ns : std::max(ns, table->back().second));
}

// Tasks whose process has measured them itself.
std::vector<size_t> Measurers(const std::vector<TaskMeasurement>& tasks) {
  std::vector<size_t> own;
  for (size_t task = 0; task < tasks.size(); ++task) {
    if (tasks[task].by == static_cast<int>(task)) own.push_back(task);
  }
  return own;
}

// Gives the first of each host that measured, named by it.
std::vector<MeasuredHost> FirstOfComputers(const std::vector<TaskMeasurement>& tasks) {
  std::vector<MeasuredHost> computers;
  for (const TaskMeasurement& task : tasks) {
    if (std::ranges::find(computers, task.computer, &MeasuredHost::where) == computers.end())
      computers.push_back({task.computer, task.host.value()});
  }
  return computers;
}

// Whether rates differ by more than noise.
bool Differ(double a, double b) { return std::abs(a - b) > 0.1 * std::max(a, b); }

double SpeedOf(double rate, double of_first) {
  return Differ(rate, of_first) ? std::clamp(rate / of_first, sims::kMinSpeed, sims::kMaxSpeed) : 1;
}

sims::OtherComputer OtherComputerOf(const exec::HostMeasurement& own, const exec::HostMeasurement& first) {
  return {{},
          own.cores,
          {SpeedOf(own.flops_per_second, first.flops_per_second),
           SpeedOf(own.bytes_per_second, first.bytes_per_second)}};
}

template <typename T>
void Append(const std::vector<T>& more, std::vector<T>* all) {
  all->insert(all->end(), more.begin(), more.end());
}

}  // namespace

MachineMeasurement MeasureMachine(const Machine& machine, Cancellation* cancellation) {
  constexpr int64_t kLargestCopy = 8 << 20;
  const std::atomic<bool>* cancelled = cancellation != nullptr ? &cancellation->flag() : nullptr;
  MachineMeasurement measured;
  measured.host = exec::MeasureHost(machine, 1500, cancelled);
  if (exec::HasPhysicalGpus(machine)) {
    Machine filled = machine;
    exec::GpuMeasurement gpus = exec::MeasureGpus(&filled, kLargestCopy, 7, cancelled);
    measured.links = std::move(gpus.links);
    measured.gpus = std::move(gpus.interference);
    return measured;
  }
  measured.links = exec::MeasureLinks(machine, kLargestCopy, 7, cancelled);
  measured.fetches = exec::MeasureFetches(9, cancelled);
  return measured;
}

MeasuredRates MeasureRates(Machine* machine) {
  MeasuredRates measured;
  if (exec::HasPhysicalGpus(*machine)) measured.gpus = exec::MeasureGpus(machine, int64_t{64} << 20, 7);
  const exec::HostMeasurement host = exec::MeasureHost(*machine, 1500);
  measured.hosts.push_back({"", host});
  for (DeviceSpec& device : machine->devices) {
    if (!IsOfHostThreads(device.kind)) continue;
    device.peak_flops[DataType::kFloat] = host.flops_per_second * device.workers;
    device.memory_bandwidth = host.bytes_per_second;
    device.rates = "measured";
  }
  if (measured.gpus.has_value()) return measured;
  for (LinkSpec& link : machine->links) link.table.clear();
  for (const exec::LinkTime& time : exec::MeasureLinks(*machine, 4 << 20, 7)) {
    for (LinkSpec& link : machine->links) {
      if (link.a == time.src && link.b == time.dst) AddRow(time.bytes, time.ns, &link.table);
    }
  }
  return measured;
}

MachineMeasurement MeasureMachineOf(const Machine& machine, exec::Transport* transport,
                                    Cancellation* cancellation, const Notes& note) {
  const std::vector<TaskMeasurement> tasks = MeasureTasks(machine, transport, [&](TaskMeasurement* own) {
    MachineMeasurement measured = MeasureMachine(own->part, cancellation);
    own->host = measured.host;
    own->gpus.links = std::move(measured.links);
    own->gpus.interference = std::move(measured.gpus);
    own->fetches = std::move(measured.fetches);
  });
  const std::string differences = DifferencesOf(FirstOfComputers(tasks));
  if (!differences.empty())
    Tell(note, "note: " + differences + "; a cost model knows that, and takes the rest for alike on all");
  MachineMeasurement all = Joined(machine, tasks);
  // Counts the cores of all its processes, since mpirun may have given each cores of its own.
  const Computers computers = ComputersOf(transport->Share(ThisComputer()));
  all.host.cores = computers.num_cores.front();
  for (size_t i = 0; i < all.other_computers.size(); ++i)
    all.other_computers[i].cores = computers.num_cores.at(i + 1);
  return all;
}

MachineMeasurement Joined(const Machine& machine, const std::vector<TaskMeasurement>& tasks) {
  MachineMeasurement all;
  const std::vector<MeasuredHost> computers = FirstOfComputers(tasks);
  all.host = computers.front().measured;
  const MachineTasks names = TasksOf(machine);
  for (size_t i = 1; i < computers.size(); ++i) {
    sims::OtherComputer& other =
        all.other_computers.emplace_back(OtherComputerOf(computers[i].measured, all.host));
    for (size_t task = 0; task < tasks.size(); ++task) {
      if (tasks[task].computer == computers[i].where) other.tasks.push_back(names.names[task]);
    }
  }
  for (const size_t task : Measurers(tasks)) {
    const TaskMeasurement& own = tasks[task];
    Append(InMachine(own, own.gpus.links), &all.links);
    Append(own.gpus.interference, &all.gpus);
    if (all.fetches.empty()) all.fetches = own.fetches;
  }
  return all;
}

MeasuredRates MeasureRatesOf(Machine* machine, exec::Transport* transport) {
  const std::vector<TaskMeasurement> tasks = MeasureTasks(*machine, transport, [](TaskMeasurement* own) {
    MeasuredRates measured = MeasureRates(&own->part);
    if (!measured.hosts.empty()) own->host = measured.hosts.front().measured;
    if (measured.gpus.has_value()) own->gpus = std::move(*measured.gpus);
  });
  MeasuredRates all;
  for (const TaskMeasurement& task : tasks) FillIn(task, machine);
  for (const size_t task : Measurers(tasks)) {
    const TaskMeasurement& own = tasks[task];
    if (own.host.has_value()) all.hosts.push_back({transport->NameOf(own.by), *own.host});
    if (!exec::HasPhysicalGpus(own.part)) continue;
    if (!all.gpus.has_value()) all.gpus.emplace();
    Append(InMachine(own, own.gpus.links), &all.gpus->links);
    Append(InMachine(own, own.gpus.links_busy), &all.gpus->links_busy);
    Append(InMachine(own, own.gpus.within), &all.gpus->within);
    Append(own.gpus.interference, &all.gpus->interference);
  }
  return all;
}

std::string DifferencesOf(const std::vector<MeasuredHost>& hosts) {
  const auto text = [](const MeasuredHost& host) {
    return fmt::format("{} has {} core{} and does {:.1f} GFLOP/s and {} a worker", host.where,
                       host.measured.cores, host.measured.cores == 1 ? "" : "s",
                       host.measured.flops_per_second / 1e9, FormatBandwidth(host.measured.bytes_per_second));
  };
  std::string differences;
  for (const MeasuredHost& host : hosts) {
    const exec::HostMeasurement &first = hosts.front().measured, &own = host.measured;
    if (own.cores != first.cores || Differ(own.flops_per_second, first.flops_per_second) ||
        Differ(own.bytes_per_second, first.bytes_per_second))
      differences += ", " + text(host);
  }
  return differences.empty() ? "" : text(hosts.front()) + differences;
}

std::vector<exec::MessageTime> MeasureNetworkOf(Machine* machine, exec::Transport* transport) {
  RequireTasks(*machine, transport);
  const MachineTasks tasks = TasksOf(*machine);
  const std::vector<exec::MessageTime> times = exec::MeasureNetwork(transport);
  if (IsEmulated(*machine)) return times;
  for (LinkSpec& link : machine->links) {
    std::vector<std::pair<int64_t, int64_t>> table;
    int64_t both_ns = 0;
    for (const exec::MessageTime& time : times) {
      const DeviceId from = tasks.hosts[static_cast<size_t>(time.from)];
      const DeviceId to = tasks.hosts[static_cast<size_t>(time.to)];
      if (std::minmax(from, to) != std::minmax(link.a, link.b)) continue;
      AddRow(time.bytes, time.ns, &table);
      both_ns = time.both_ns;
    }
    if (table.empty()) continue;
    const auto [bytes, ns] = table.back();
    link.latency_ns = table.front().second;
    link.bandwidth =
        1e9 * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, ns - link.latency_ns));
    link.table = std::move(table);
    // The largest message decides: nearer to one after the other than to both at once.
    link.duplex = 2 * both_ns <= 3 * ns;
  }
  RateNics(tasks, transport, machine);
  return times;
}

}  // namespace lanescope::study
