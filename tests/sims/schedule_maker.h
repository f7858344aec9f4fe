// Makes small schedules by hand, for tests and benchmarks of the simulator.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/schedule.h"

namespace lanescope::sims {

// Devices are modelled GPUs; the host is device 0 and takes part as the hub of a star.
inline Machine StarMachine(int gpus, double link_bandwidth, int64_t latency_ns, double bus_bandwidth) {
  Machine machine = VirtualMachine(gpus, 1);
  machine.links.clear();
  machine.buses.clear();
  if (bus_bandwidth > 0) machine.buses.push_back({"backbone", bus_bandwidth});
  const int host = machine.host();
  for (int d = 0; d < machine.num_devices(); ++d) {
    if (d == host) continue;
    machine.devices[static_cast<size_t>(d)].kind = DeviceKind::kModelled;
    machine.links.push_back({.a = d,
                             .b = host,
                             .bandwidth = link_bandwidth,
                             .latency_ns = latency_ns,
                             .table = {},
                             .bus = bus_bandwidth > 0 ? 0 : -1,
                             .duplex = true});
  }
  return machine;
}

// Commands are added in topological order; ranks are command numbers unless given.
class ScheduleMaker {
 public:
  int Queue(int device, QueueKind kind = QueueKind::kCompute, bool in_order = false) {
    schedule_.queues.Add({device, kind, in_order, "queue " + std::to_string(schedule_.queues.size())});
    return static_cast<int>(schedule_.queues.size()) - 1;
  }
  int Launch(int queue, int64_t ns, const std::vector<int>& after = {}, int rank = -1) {
    Command command;
    command.queue = QueueId(queue);
    return Add(command, ns, after, rank);
  }
  int Sync(CommandKind kind, int queue, const std::vector<int>& after = {}) {
    Command command;
    command.kind = kind;
    command.queue = QueueId(queue);
    return Add(command, 0, after, -1);
  }
  int Copy(int queue, int src, int dst, int64_t bytes, int64_t ns, const std::vector<int>& after = {},
           int rank = -1) {
    Command command;
    command.kind = CommandKind::kCopy;
    command.queue = QueueId(queue);
    command.bytes = bytes;
    command.inputs = static_cast<int>(schedule_.operands.size());
    command.num_inputs = command.num_outputs = 1;
    command.outputs = command.inputs + 1;
    schedule_.operands.push_back(ValueOn(src));
    schedule_.operands.push_back(ValueOn(dst));
    return Add(command, ns, after, rank);
  }

  const std::vector<int64_t>& ns() const { return ns_; }
  const std::vector<std::vector<int>>& predecessors() const { return after_; }

  Schedule Build() {
    const size_t total = schedule_.commands.size();
    schedule_.num_predecessors.assign(total, 0);
    for (size_t c = 0; c < total; ++c) schedule_.num_predecessors[c] = static_cast<int>(after_[c].size());
    schedule_.successors = MakeRows(total, [&](const auto& add) {
      for (size_t c = 0; c < total; ++c) {
        for (const int p : after_[c]) add(p, static_cast<int>(c));
      }
    });
    return schedule_;
  }

 private:
  int Add(Command command, int64_t ns, const std::vector<int>& after, int rank) {
    const int number = static_cast<int>(schedule_.commands.size());
    command.rank = rank >= 0 ? rank : number;
    schedule_.commands.push_back(command);
    ns_.push_back(ns);
    after_.push_back(after);
    return number;
  }
  ValueId ValueOn(int device) {
    while (value_of_device_.size() <= static_cast<size_t>(device)) {
      Value value;
      value.device = static_cast<int>(value_of_device_.size());
      value_of_device_.push_back(schedule_.values.Add(value));
    }
    return value_of_device_[static_cast<size_t>(device)];
  }

  Schedule schedule_;
  std::vector<int64_t> ns_;
  std::vector<std::vector<int>> after_;
  std::vector<ValueId> value_of_device_;
};

// `ops` launches on the GPUs of a star, each after one random earlier launch on another GPU (among the last
// `window`) whose output of 1 to 16 MB is copied first. Whole ns alone, so that other simulators agree.
inline ScheduleMaker RandomStarSchedule(const Machine& machine, int ops, int window, uint64_t seed,
                                        bool in_order = false) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  ScheduleMaker maker;
  const std::vector<int> gpus = machine.Gpus();
  std::vector<int> compute, copy_in;
  for (const int gpu : gpus) {
    compute.push_back(maker.Queue(gpu, QueueKind::kCompute, in_order));
    copy_in.push_back(maker.Queue(gpu, QueueKind::kCopyIn, in_order));
  }
  std::vector<std::pair<int, size_t>> launches;  // command, index of its GPU
  for (int i = 0; i < ops; ++i) {
    const size_t on = below(gpus.size());
    std::vector<int> after;
    if (!launches.empty()) {
      const uint64_t reach = std::min<uint64_t>(launches.size(), static_cast<uint64_t>(window));
      const auto [source, from] = launches[launches.size() - 1 - below(reach)];
      after.push_back(source);
      if (from != on) {
        const auto bytes = static_cast<int64_t>((1'000'000 + below(15'000'001)) / 25 * 25);
        const Route route = machine.RouteBetween(gpus[from], gpus[on]);
        const auto ns =
            route.latency_ns + static_cast<int64_t>(static_cast<double>(bytes) / route.bandwidth * 1e9 + 0.5);
        after = {maker.Copy(copy_in[on], gpus[from], gpus[on], bytes, ns, {source})};
      }
    }
    launches.emplace_back(maker.Launch(compute[on], static_cast<int64_t>(10'000 + below(990'000)), after),
                          on);
  }
  return maker;
}

}  // namespace lanescope::sims
