// SPDX-License-Identifier: Apache-2.0
// Tables of a task graph and its machine for the quick simulation of placement_run.h. Internal to sims.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/rows.h"
#include "core/machine/device_queues.h"
#include "core/strategies/task_graph.h"
#include "sims/engine/delays.h"

namespace lanescope::sims {

// Where the groups of a task graph are, and how urgent its tasks.
struct PlacementState {
  std::vector<DeviceId> device;  // by group
  std::vector<int> priority;     // by task, larger first; ties by task number. Empty: all equal
  friend bool operator==(const PlacementState&, const PlacementState&) = default;
};

// The tables that all evaluations read. Immutable, shared by threads; refers to the task graph.
class PlacementModel {
 public:
  PlacementModel(const TaskGraph& tasks, const Delays& delays);

  static constexpr int kMostDevices = 64;  // tables are by pairs of devices

 private:
  friend class PlacementEvaluator;
  friend class PlacementLayout;
  friend class PlacementRun;
  friend struct PlacementCheckpoint;

  // A queue as compiling makes it: where launches run, or an engine that drives copies.
  struct QueueSpec {
    int servers = 1;
    bool in_order = false;
    QueueClass kind = QueueClass::kCompute;
    int64_t gap = 0, wake = 0;
  };
  struct Use {
    int task = -1;
    int number = 0;  // among the task's reads
    bool on_host = false;
  };
  struct Tensor {
    int64_t bytes = 0;
    int producer = -1, group = -1, fetch = -1;
    int waits = 0;  // of a copy of it: for its producer and for other tasks, which its `copied_after` lists
    bool on_host = false;
  };
  struct Route {
    int first = 0, count = 0;  // into resources_
  };
  struct Passed {
    int resource = 0;
    double ns_per_byte = 0;
  };

  void AddQueues();
  void NumberCopies();
  void FindTails();
  const Tensor& tensor(int id) const { return tensor_[static_cast<size_t>(id)]; }
  int64_t LaunchNs(int task, DeviceId device) const {
    return launch_ns_[IndexOf(task * devices_) + device.index()];
  }
  size_t Pair(DeviceId src, DeviceId dst) const { return src.index() * IndexOf(devices_) + dst.index(); }
  DeviceId PlaceOf(const Use& use, DeviceId device) const {
    return use.on_host ? tasks_.HostOf(device) : device;
  }
  int CopyQueue(DeviceId src, DeviceId dst) const { return copy_queue_[Pair(src, dst)]; }
  // Where a copy on the way from one device to another comes from: another memory in between, or the first.
  DeviceId StopBefore(DeviceId src, DeviceId dst) const { return stop_before_[Pair(src, dst)]; }
  int64_t CopyNs(int tensor, DeviceId src, DeviceId dst) const {
    return copy_ns_[IndexOf(tensor) * IndexOf(devices_ * devices_) + Pair(src, dst)];
  }

  const TaskGraph& tasks_;
  const int devices_;
  const DeviceId host_;
  const Delays delays_;
  bool any_handoff_ = false;
  bool any_in_order_ = false;  // queue
  bool memory_can_run_out_ = false;
  std::vector<QueueSpec> queues_;
  std::map<DeviceQueue, int> number_of_;  // in queues_
  std::vector<int> copy_queue_;           // by (source, destination)
  std::vector<DeviceId> stop_before_;     // by (source, destination)
  std::vector<int64_t> copy_ns_;          // by (tensor, source, destination)
  std::vector<Route> routes_;             // by (source, destination)
  std::vector<Passed> passed_;
  int num_resources_ = 0;
  std::vector<int64_t> tail_;  // by task: the shortest way from its start to the end, wherever tasks run
  Rows<Use> uses_;             // by tensor
  Rows<> after_;               // by task: those that wait for it beside its readers
  Rows<> outputs_;             // by task: the tensors that it makes
  Rows<> handed_on_;           // by task: tensors whose copies wait for it though it does not make them
  std::vector<int> waits_;     // by task: how many tasks it waits for, once for each read
  Rows<> tensors_of_;          // by group: what its tasks read and make, and what it holds
  // By tensor: the first of its numbers for copies, one for each memory that may want it beside its own.
  std::vector<int> first_copy_;
  // Fields of tasks and tensors, side by side: an evaluation reads nothing else of them.
  std::vector<int> group_;  // by task
  std::vector<Tensor> tensor_;
  std::vector<int64_t> launch_ns_;  // by (task, device)
};

}  // namespace lanescope::sims
