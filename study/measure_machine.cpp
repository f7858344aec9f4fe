#include "study/measure_machine.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/machine/tasks.h"
#include "study/this_machine.h"

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
  if (exec::HasPhysicalGpus(*machine)) {
    measured.gpus = exec::MeasureGpus(machine, int64_t{64} << 20, 7);
    return measured;
  }
  measured.host = exec::MeasureHost(*machine, 1500);
  for (DeviceSpec& device : machine->devices) {
    if (device.kind != DeviceKind::kHost && device.kind != DeviceKind::kVirtual) continue;
    device.peak_flops[DataType::kFloat] = measured.host->flops_per_second * device.workers;
    device.memory_bandwidth = measured.host->bytes_per_second;
  }
  for (LinkSpec& link : machine->links) link.table.clear();
  for (const exec::LinkTime& time : exec::MeasureLinks(*machine, 4 << 20, 7)) {
    for (LinkSpec& link : machine->links) {
      if (link.a == time.src && link.b == time.dst) link.table.emplace_back(time.bytes, time.ns);
    }
  }
  return measured;
}

std::vector<exec::MessageTime> MeasureNetworkOf(Machine* machine, exec::Transport* transport) {
  const MachineTasks tasks = TasksOf(*machine);
  if (tasks.size() != transport->size()) {
    Throw(Code::kFailedPrecondition,
          "the machine has {} tasks, but {} processes were started: start one for each", tasks.size(),
          transport->size());
  }
  const std::vector<exec::MessageTime> times = exec::MeasureNetwork(transport);
  if (IsEmulated(*machine)) return times;
  for (LinkSpec& link : machine->links) {
    std::vector<std::pair<int64_t, int64_t>> table;
    int64_t both_ns = 0;
    for (const exec::MessageTime& time : times) {
      const DeviceId from = tasks.hosts[static_cast<size_t>(time.from)];
      const DeviceId to = tasks.hosts[static_cast<size_t>(time.to)];
      if (std::minmax(from, to) != std::minmax(link.a, link.b)) continue;
      // Larger ones never take less, whatever one measurement says.
      table.emplace_back(time.bytes, table.empty() ? time.ns : std::max(time.ns, table.back().second));
      both_ns = time.both_ns;
    }
    if (table.empty()) continue;
    const auto [bytes, ns] = table.back();
    link.latency_ns = table.front().second;
    link.bandwidth =
        1e9 * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, ns - link.latency_ns));
    link.table = std::move(table);
    // Of the largest: nearer to one after the other than to both at once.
    link.duplex = 2 * both_ns <= 3 * ns;
  }
  RateNics(tasks, transport, machine);
  return times;
}

}  // namespace lanescope::study
