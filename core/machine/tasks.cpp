// SPDX-License-Identifier: Apache-2.0
#include "core/machine/tasks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"

namespace lanescope {

std::string NameOfTask(DeviceName name) {
  name.has_type = name.has_id = false;
  name.has_replica = name.replica != 0;
  return name.ToString();
}

namespace {

// The kind of place by which devices are near each other.
enum class PlaceKind { kNode, kInterface, kTask };

std::pair<PlaceKind, int> PlaceOf(const Machine& machine, const MachineTasks& tasks, DeviceId device) {
  const int clustered = device.number() - machine.first_clustered.number();
  if (machine.cluster && clustered >= 0 && clustered < machine.cluster->num_gpus())
    return {PlaceKind::kNode, machine.cluster->NodeOf(clustered)};
  for (size_t n = 0; n < machine.nics.size(); ++n) {
    if (std::ranges::count(machine.nics[n].hosts, tasks.host_of[device]) > 0)
      return {PlaceKind::kInterface, static_cast<int>(n)};
  }
  return {PlaceKind::kTask, tasks.task_of[device]};
}

}  // namespace

MachineTasks TasksOf(const Machine& machine) {
  MachineTasks tasks;
  std::map<std::tuple<std::string_view, int, int>, int> known;
  tasks.task_of.reserve(machine.devices.size());
  const DeviceSpec* last = nullptr;
  for (const DeviceId d : machine.devices.ids()) {
    const DeviceName& name = machine.device(d).parsed;
    // Most often the task of the device before: thousands of GPUs are of one.
    if (last == nullptr || !IsSameAddressSpace(last->parsed, name)) {
      const auto [found, added] = known.try_emplace({name.job, name.replica, name.task}, tasks.size());
      if (added) {
        tasks.names.push_back(NameOfTask(name));
        tasks.hosts.emplace_back();
      }
      tasks.task_of.Add(found->second);
    } else {
      tasks.task_of.Add(tasks.task_of.back());
    }
    last = &machine.device(d);
    if (name.type == "CPU" && name.id == 0) tasks.hosts[static_cast<size_t>(tasks.task_of.back())] = d;
  }
  tasks.host_of.reserve(machine.devices.size());
  for (const int task : tasks.task_of) {
    const DeviceId host = tasks.hosts[static_cast<size_t>(task)];
    LANESCOPE_CHECK(host.exists());
    tasks.host_of.Add(host);
  }
  return tasks;
}

DeviceId StopBefore(const Machine& machine, const MachineTasks& tasks, DeviceId src, DeviceId dst) {
  if (tasks.SameTask(src, dst) || IsLinked(machine, src, dst)) return src;
  return dst != tasks.host_of[dst] ? tasks.host_of[dst] : tasks.host_of[src];
}

std::vector<std::vector<size_t>> NearDevices(const Machine& machine, std::span<const DeviceId> devices) {
  const MachineTasks tasks = TasksOf(machine);
  std::map<std::pair<PlaceKind, int>, size_t> known;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto [found, added] = known.try_emplace(PlaceOf(machine, tasks, devices[i]), groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(i);
  }
  return groups;
}

Machine SeenByTask(const Machine& machine, int task) {
  const MachineTasks tasks = TasksOf(machine);
  if (task < 0 || task >= tasks.size())
    Throw(Code::kInvalidArgument, "the machine has {} tasks, and none of number {}", tasks.size(), task);
  Machine seen = machine;
  for (const DeviceId d : seen.devices.ids()) {
    if (tasks.task_of[d] != task) seen.devices[d].kind = DeviceKind::kModelled;
  }
  return seen;
}

Machine WithJoinedGpus(const Machine& machine, const std::function<bool(DeviceId, DeviceId)>& are_joined) {
  const MachineTasks tasks = TasksOf(machine);
  const auto is_hardware = [&](DeviceId d) { return machine.device(d).is_hardware(); };
  const auto joins = [&](DeviceId a, DeviceId b) {
    return is_hardware(a) && is_hardware(b) && !tasks.SameTask(a, b) &&
           are_joined(std::min(a, b), std::max(a, b));
  };
  Machine joined = machine;
  std::erase_if(joined.links, [&](const LinkSpec& link) {
    return !tasks.SameTask(link.a, link.b) && (is_hardware(link.a) || is_hardware(link.b)) &&
           !joins(link.a, link.b);
  });
  for (const DeviceId a : machine.devices.ids()) {
    for (const DeviceId b : machine.devices.ids()) {
      if (!(a < b) || !joins(a, b) || IsLinked(machine, a, b)) continue;
      const DeviceId near = tasks.host_of[a], far = tasks.host_of[b];
      if (!IsLinked(machine, a, near) || !IsLinked(machine, near, far) || !IsLinked(machine, far, b))
        continue;
      const Route through_hosts = machine.RouteBetween(a, b);
      LinkSpec link;
      link.a = a;
      link.b = b;
      link.bandwidth = through_hosts.bandwidth;
      link.latency_ns = through_hosts.latency_ns;
      joined.links.push_back(std::move(link));
    }
  }
  return joined;
}

}  // namespace lanescope
