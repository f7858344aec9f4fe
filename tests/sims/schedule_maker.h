// SPDX-License-Identifier: Apache-2.0
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
  const DeviceId host = machine.host();
  for (const DeviceId d : machine.devices.ids()) {
    if (d == host) continue;
    machine.devices[d].kind = DeviceKind::kModelled;
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
  QueueId Queue(DeviceId device, QueueKind kind = QueueKind::kCompute, bool in_order = false) {
    return schedule_.queues.Add({device, kind, in_order, "queue " + std::to_string(schedule_.queues.size())});
  }
  CommandId Launch(QueueId queue, int64_t ns, const std::vector<CommandId>& after = {}, int rank = -1) {
    Command command;
    command.queue = queue;
    return Add(command, ns, after, rank);
  }
  CommandId Sync(CommandKind kind, QueueId queue, const std::vector<CommandId>& after = {}) {
    Command command;
    command.kind = kind;
    command.queue = queue;
    return Add(command, 0, after, -1);
  }
  CommandId Copy(QueueId queue, DeviceId src, DeviceId dst, int64_t bytes, int64_t ns,
                 const std::vector<CommandId>& after = {}, int rank = -1) {
    Command command;
    command.kind = CommandKind::kCopy;
    command.queue = queue;
    command.bytes = bytes;
    command.inputs = static_cast<int>(schedule_.operands.size());
    command.num_inputs = command.num_outputs = 1;
    command.outputs = command.inputs + 1;
    schedule_.operands.push_back(ValueOn(src));
    schedule_.operands.push_back(ValueOn(dst));
    return Add(command, ns, after, rank);
  }

  const IdVector<CommandId, int64_t>& ns() const { return ns_; }
  const IdVector<CommandId, std::vector<CommandId>>& predecessors() const { return after_; }

  Schedule Build() {
    const size_t total = schedule_.commands.size();
    schedule_.num_predecessors.assign(total, 0);
    for (const CommandId c : after_.ids()) schedule_.num_predecessors[c] = static_cast<int>(after_[c].size());
    schedule_.successors = MakeRows<CommandId, CommandId>(total, [&](const auto& add) {
      for (const CommandId c : after_.ids()) {
        for (const CommandId p : after_[c]) add(p, c);
      }
    });
    return schedule_;
  }

 private:
  CommandId Add(Command command, int64_t ns, const std::vector<CommandId>& after, int rank) {
    command.rank = rank >= 0 ? rank : schedule_.commands.next_id().number();
    ns_.Add(ns);
    after_.Add(after);
    return schedule_.commands.Add(command);
  }
  ValueId ValueOn(DeviceId device) {
    while (!value_of_device_.Contains(device)) {
      Value value;
      value.device = value_of_device_.next_id();
      value_of_device_.Add(schedule_.values.Add(value));
    }
    return value_of_device_[device];
  }

  Schedule schedule_;
  IdVector<CommandId, int64_t> ns_;
  IdVector<CommandId, std::vector<CommandId>> after_;
  IdVector<DeviceId, ValueId> value_of_device_;
};

// `ops` launches on the GPUs of a star, each after one random earlier launch on another GPU (among the last
// `window`) whose output of 1 to 16 MB is copied first. Whole ns alone, so that other simulators agree.
inline ScheduleMaker RandomStarSchedule(const Machine& machine, int ops, int window, uint64_t seed,
                                        bool in_order = false) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  ScheduleMaker maker;
  const std::vector<DeviceId> gpus = machine.Gpus();
  std::vector<QueueId> compute, copy_in;
  for (const DeviceId gpu : gpus) {
    compute.push_back(maker.Queue(gpu, QueueKind::kCompute, in_order));
    copy_in.push_back(maker.Queue(gpu, QueueKind::kCopyIn, in_order));
  }
  std::vector<std::pair<CommandId, size_t>> launches;  // command, index of its GPU
  for (int i = 0; i < ops; ++i) {
    const size_t on = below(gpus.size());
    std::vector<CommandId> after;
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
