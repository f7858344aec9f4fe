// SPDX-License-Identifier: Apache-2.0
#include "sims/search/placement_model.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/stop_point.h"
#include "core/machine/device_queues.h"
#include "core/time/queue_servers.h"

namespace lanescope::sims {

PlacementModel::PlacementModel(const TaskGraph& tasks, const Delays& delays)
    : tasks_(tasks), devices_(tasks.num_devices()), host_(tasks.host()), delays_(delays) {
  const Machine& machine = tasks.machine();
  if (devices_ > kMostDevices) {
    Throw(Code::kUnimplemented, "a search takes machines of up to {} devices, and this one has {}",
          kMostDevices, devices_);
  }
  for (const auto& from : delays.handoff_ns) {
    for (const int64_t ns : from) any_handoff_ |= ns > 0;
  }
  AddQueues();
  std::vector<double> capacity;
  for (int r = 0; r < machine.num_resources(); ++r) capacity.push_back(machine.ResourceBandwidth(r));
  num_resources_ = machine.num_resources();
  routes_.resize(IndexOf(devices_ * devices_));
  copy_queue_.assign(routes_.size(), -1);
  stop_before_.assign(routes_.size(), DeviceId());
  for (const DeviceId src : machine.devices.ids()) {
    for (const DeviceId dst : machine.devices.ids()) {
      if (src == dst) continue;
      copy_queue_[Pair(src, dst)] = number_of_.at(CopyQueueOf(machine, tasks.machine_tasks(), src, dst));
      stop_before_[Pair(src, dst)] = lanescope::StopBefore(machine, tasks.machine_tasks(), src, dst);
      Route& route = routes_[Pair(src, dst)];
      route.first = static_cast<int>(passed_.size());
      std::vector<int> resources = machine.RouteBetween(src, dst).resources;
      std::sort(resources.begin(), resources.end());
      resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
      for (const int resource : resources) {
        if (capacity[IndexOf(resource)] > 0) passed_.push_back({resource, 1e9 / capacity[IndexOf(resource)]});
      }
      route.count = static_cast<int>(passed_.size()) - route.first;
    }
  }
  int64_t most = 0;
  CopyTimes times(tasks);
  for (size_t t = 0; t < tasks.tensors().size(); ++t) {
    StopPoint();
    most += tasks.tensors()[t].bytes;
    for (const DeviceId src : machine.devices.ids()) {
      for (const DeviceId dst : machine.devices.ids())
        copy_ns_.push_back(src == dst ? 0 : times.Ns(src, dst, tasks.tensors()[t].bytes));
    }
  }
  for (const TaskGroup& group : tasks.groups()) most += group.persistent_bytes;
  for (const DeviceSpec& device : machine.devices)
    memory_can_run_out_ |= device.memory_bytes > 0 && device.memory_bytes < most;
  const auto num_tasks = IndexOf(tasks.num_tasks());
  uses_ = MakeRows<Use>(tasks.tensors().size(), [&](const auto& add) {
    for (int id = 0; id < tasks.num_tasks(); ++id) {
      int number = 0;
      for (const TaskRead& read : tasks.task(id).reads) add(read.tensor, Use{id, number++, read.on_host});
    }
  });
  after_ = MakeRows(num_tasks, [&](const auto& add) {
    for (int id = 0; id < tasks.num_tasks(); ++id) {
      for (const int before : tasks.task(id).after) add(before, id);
    }
  });
  outputs_ = MakeRows(num_tasks, [&](const auto& add) {
    for (size_t t = 0; t < tasks.tensors().size(); ++t) {
      if (const int producer = tasks.tensors()[t].producer; producer >= 0) add(producer, static_cast<int>(t));
    }
  });
  handed_on_ = MakeRows(num_tasks, [&](const auto& add) {
    for (size_t t = 0; t < tasks.tensors().size(); ++t) {
      for (const int before : tasks.tensors()[t].copied_after) add(before, static_cast<int>(t));
    }
  });
  for (const GraphTask& task : tasks.tasks()) {
    int waits = static_cast<int>(task.after.size());
    for (const TaskRead& read : task.reads) waits += tasks.tensor(read.tensor).producer >= 0;
    waits_.push_back(waits);
    group_.push_back(task.group);
  }
  for (int id = 0; id < tasks.num_tasks(); ++id) {
    for (const DeviceId device : machine.devices.ids()) launch_ns_.push_back(tasks.LaunchNs(id, device));
  }
  for (const TaskTensor& tensor : tasks.tensors()) {
    tensor_.push_back({tensor.bytes, tensor.producer, tensor.group, tensor.fetch,
                       (tensor.producer >= 0) + static_cast<int>(tensor.copied_after.size()),
                       tensor.on_host});
  }
  NumberCopies();
  FindTails();
}

// Launches of device d on queue d, then engines, then network ports.
void PlacementModel::AddQueues() {
  const Machine& machine = tasks_.machine();
  const auto add = [&](DeviceId device, QueueKind kind) {
    const DeviceSpec& spec = machine.device(device);
    QueueSpec queue{.servers = QueueServers(spec, kind, QueueWorkers(spec, kind)),
                    .in_order = IsInOrder(spec, kind),
                    .kind = QueueClassOf(kind, spec)};
    queue.gap = delays_.gap(spec.kind, queue.kind);
    queue.wake = delays_.wake(spec.kind, queue.kind);
    any_in_order_ |= queue.in_order;
    number_of_[{device, kind}] = static_cast<int>(queues_.size());
    queues_.push_back(queue);
  };
  for (const DeviceId d : machine.devices.ids()) add(d, QueueKind::kCompute);
  for (const DeviceId d : machine.devices.ids()) {
    if (!machine.device(d).is_gpu()) continue;
    add(d, QueueKind::kCopyIn);
    if (machine.device(d).copy_engines > 1) add(d, QueueKind::kCopyOut);
  }
  if (tasks_.machine_tasks().size() < 2) return;
  for (const DeviceId host : tasks_.machine_tasks().hosts)
    add(host, machine.device(host).copy_engines > 1 ? QueueKind::kCopyOut : QueueKind::kCopyIn);
}

// A copy to a device of another task stops at both hosts.
void PlacementModel::NumberCopies() {
  constexpr int kStops = 3;
  const int most_a_place = tasks_.machine_tasks().size() > 1 ? kStops : 1;
  std::vector<std::vector<int>> of_group(tasks_.groups().size());
  first_copy_.push_back(0);
  for (int t = 0; t < static_cast<int>(tensor_.size()); ++t) {
    const Tensor& tensor = tensor_[IndexOf(t)];
    const auto places = static_cast<int>(uses_[t].size()) + (tensor.fetch >= 0);
    first_copy_.push_back(first_copy_.back() + std::min(most_a_place * places, devices_ - 1));
    for (const Use& use : uses_[t]) of_group[IndexOf(group_[IndexOf(use.task)])].push_back(t);
    const int home = tensor.producer >= 0 ? group_[IndexOf(tensor.producer)] : tensor.group;
    if (home >= 0) of_group[IndexOf(home)].push_back(t);
  }
  for (const std::vector<int>& tensors : of_group) {
    for (const int tensor : tensors) tensors_of_.Append(tensor);
    tensors_of_.SortOpenRow();
    tensors_of_.EndRow();
  }
}

void PlacementModel::FindTails() {
  tail_.assign(IndexOf(tasks_.num_tasks()), 0);
  for (int id = tasks_.num_tasks() - 1; id >= 0; --id) {
    const std::vector<DeviceId>& devices = tasks_.group(tasks_.task(id).group).devices;
    int64_t fastest = std::numeric_limits<int64_t>::max();
    for (const DeviceId device : devices) fastest = std::min(fastest, tasks_.LaunchNs(id, device));
    const int64_t mine = tail_[IndexOf(id)] += fastest;
    const auto raise = [&](int before) { tail_[IndexOf(before)] = std::max(tail_[IndexOf(before)], mine); };
    for (const int before : tasks_.task(id).after) raise(before);
    for (const TaskRead& read : tasks_.task(id).reads) {
      if (const int producer = tasks_.tensor(read.tensor).producer; producer >= 0) raise(producer);
    }
  }
}

}  // namespace lanescope::sims
