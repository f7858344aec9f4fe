// SPDX-License-Identifier: Apache-2.0
// A step without a placement: its launches, the tensors between them, and what each costs on every device.
// List schedulers, the search and the lower bound work on it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/op.h"
#include "core/machine/machine.h"
#include "core/machine/tasks.h"
#include "core/place/placer.h"
#include "core/schedule/cost.h"
#include "core/schedule/schedule.h"
#include "core/strategies/strategy.h"

namespace lanescope {

// A tensor that a task reads. Tensors that cost no copy wherever they are read (small constants) are left
// out.
struct TaskTensor {
  Endpoint source;
  int64_t bytes = 0;
  int producer = -1;     // the task that makes it; -1: it is there when the step begins
  int group = -1;        // of what is there: the group whose device holds it; -1: the caller's host
  bool on_host = false;  // stays in host memory even if its producer runs on a GPU
  int fetch = -1;        // which of the step's fetches it is; -1: none
  // Tasks that a copy of it waits for beside its producer: an identity hands on what it waited for.
  std::vector<int> copied_after;
};

struct TaskRead {
  int tensor = -1;
  bool on_host = false;  // is read from host memory even on a GPU
};

struct GraphTask {
  NodeId node;
  int group = -1;
  bool moves_only = false;  // an assignment or a barrier: another placement may do without it
  bool updates = false;     // writes a variable's memory: readers of the old value may stand in `after`
  std::vector<TaskRead> reads;
  std::vector<int> after;  // tasks that it waits for beside the producers of its reads
};

// Nodes that share a device, some of which run or hold state in the step.
struct TaskGroup {
  NodeId number;  // as ColocationGroups numbers it
  std::vector<int> tasks;
  std::vector<DeviceId> devices;  // that may hold all its nodes, best first; never empty
  int64_t persistent_bytes = 0;   // its variables and constants
};

// Refers to the graph, info, machine and costs of its input, which must outlive it. Immutable once built.
class TaskGraph {
 public:
  // Compiles the step on devices without memory limit, and reads launches and dependencies from the schedule.
  // Throws what Compile and the placer throw.
  explicit TaskGraph(const StrategyInput& input);

  const Graph& graph() const { return graph_; }
  const Machine& machine() const { return machine_; }
  int num_tasks() const { return static_cast<int>(tasks_.size()); }
  int num_groups() const { return static_cast<int>(groups_.size()); }
  int num_devices() const { return machine_.num_devices(); }
  // Whose memory has feeds and gets fetches.
  DeviceId host() const { return host_; }
  // The machine's tasks; each has a host, whose memory holds what its launches read and write there.
  const MachineTasks& machine_tasks() const { return machine_tasks_; }
  // In an order that respects dependencies.
  std::span<const GraphTask> tasks() const { return tasks_; }
  const GraphTask& task(int id) const { return tasks_[static_cast<size_t>(id)]; }
  std::span<const TaskTensor> tensors() const { return tensors_; }
  const TaskTensor& tensor(int id) const { return tensors_[static_cast<size_t>(id)]; }
  std::span<const TaskGroup> groups() const { return groups_; }
  const TaskGroup& group(int id) const { return groups_[static_cast<size_t>(id)]; }

  // Alone, in ns.
  int64_t LaunchNs(int task, DeviceId device) const { return launch_ns_[Index(task, device)]; }
  // Devices that a list scheduler may give the task, best first; never empty. Those of its group, but none
  // whose time goes by a rate that nobody gave where the time of another one does not; where all do, no host
  // beside GPUs: such a time says nothing of which is faster.
  std::vector<DeviceId> Candidates(int task) const;
  // Workers of the device that the launch keeps busy.
  int Workers(int task, DeviceId device) const { return workers_[Index(task, device)]; }
  // Looks for the route every time; CopyTimes remembers.
  int64_t CopyNs(DeviceId src, DeviceId dst, int64_t bytes) const {
    return costs_.Copy(machine_, src, dst, bytes).ns;
  }
  // The memory that a task on `device` reads from, or writes a tensor to.
  DeviceId PlaceOf(const TaskRead& read, DeviceId device) const {
    return read.on_host ? HostOf(device) : device;
  }
  DeviceId PlaceOf(const TaskTensor& tensor, DeviceId device) const {
    return tensor.on_host ? HostOf(device) : device;
  }
  DeviceId HostOf(DeviceId device) const { return machine_tasks_.host_of[device]; }

  // Devices by group, and perhaps priorities by task, to a placement of the whole graph by the placer's
  // rules.
  Placement ToPlacement(const StrategyInput& input, const std::vector<DeviceId>& device_of_group,
                        const std::vector<int>& priority) const;
  // By group: the device that a placement gives its first node.
  std::vector<DeviceId> DevicesIn(const Placement& placement) const;
  // By task; empty where the placement has none.
  std::vector<int> PrioritiesIn(const Placement& placement) const;

 private:
  size_t Index(int task, DeviceId device) const {
    return static_cast<size_t>(task) * static_cast<size_t>(machine_.num_devices()) + device.index();
  }
  void FindGroups(const StrategyInput& input, const Schedule& schedule);
  void ReadSchedule(const GraphInfo& info, const Schedule& schedule);
  void FindHandedOn(const GraphInfo& info, const Schedule& schedule);
  void EstimateLaunches(const StrategyInput& input);

  const Graph& graph_;
  const Machine& machine_;
  const CostModel& costs_;
  const MachineTasks machine_tasks_;
  const DeviceId host_;
  IdVector<NodeId, NodeId> colocation_;  // by node, as ColocationGroups numbers them
  IdVector<NodeId, int> group_of_;       // by that number: the group here, -1 none
  std::vector<GraphTask> tasks_;
  std::vector<TaskTensor> tensors_;
  std::vector<TaskGroup> groups_;
  std::vector<int64_t> launch_ns_;  // by (task, device)
  std::vector<bool> is_rated_;      // the same: whether that time goes by a measurement or a given rate
  std::vector<int> workers_;
};

// Times of copies, each asked for once. Many tensors have one of few sizes. One a thread.
class CopyTimes {
 public:
  explicit CopyTimes(const TaskGraph& tasks) : tasks_(tasks) {}
  int64_t Ns(DeviceId src, DeviceId dst, int64_t bytes);

 private:
  const TaskGraph& tasks_;
  std::unordered_map<int64_t, std::vector<int64_t>> known_;  // by bytes: by (source, destination), -1 not yet
};

}  // namespace lanescope
