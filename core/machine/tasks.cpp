#include "core/machine/tasks.h"

#include <map>
#include <tuple>

#include "core/base/error.h"

namespace lanescope {

std::string NameOfTask(DeviceName name) {
  name.has_type = name.has_id = false;
  name.has_replica = name.replica != 0;
  return name.ToString();
}

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

}  // namespace lanescope
