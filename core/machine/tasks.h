// SPDX-License-Identifier: Apache-2.0
// The tasks of a machine: processes, each with a host and its devices.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/machine/device_name.h"
#include "core/machine/machine.h"

namespace lanescope {

// In the order in which the devices name them: rank r of a job plays task r. Immutable.
struct MachineTasks {
  std::vector<std::string> names;  // "/job:worker/task:1"
  std::vector<DeviceId> hosts;     // by task: its CPU:0, whose memory holds what its kernels read on the host
  IdVector<DeviceId, int> task_of;       // by device
  IdVector<DeviceId, DeviceId> host_of;  // by device

  int size() const { return static_cast<int>(names.size()); }
  bool SameTask(DeviceId a, DeviceId b) const { return task_of[a] == task_of[b]; }
};

MachineTasks TasksOf(const Machine& machine);
// The task of a device with that name, as MachineTasks::names has it.
std::string NameOfTask(DeviceName name);
// Whether a link of its own joins the two devices.
bool IsLinked(const Machine& machine, DeviceId a, DeviceId b);
// The last place on the way to `dst` that holds a copy of its own: between tasks without a link of the two
// devices a tensor goes from host to host, and from there to whichever device wants it.
DeviceId StopBefore(const Machine& machine, const MachineTasks& tasks, DeviceId src, DeviceId dst);
// Numbers in `devices`, in groups that are nearer to each other than to others: those of one node of the
// machine's cluster, of the tasks behind one network interface, or of one task. Groups and their devices are
// in the order of `devices`.
std::vector<std::vector<size_t>> NearDevices(const Machine& machine, std::span<const DeviceId> devices);
// The machine as one of its tasks can use it: devices of all others are modelled ones. InvalidArgument for a
// task that the machine does not have.
Machine SeenByTask(const Machine& machine, int task);
// The machine whose GPUs of hardware send to those of other tasks from memory to memory where `are_joined`
// says so (of a device and one behind it), and there alone: these have a link of their own, that of the file
// or one like their way through the hosts, and no others have one out of their task.
Machine WithJoinedGpus(const Machine& machine, const std::function<bool(DeviceId, DeviceId)>& are_joined);

}  // namespace lanescope
