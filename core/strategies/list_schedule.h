// SPDX-License-Identifier: Apache-2.0
// A schedule in the making: tasks get a device and a time, one after the other. The list-scheduling
// strategies (greedy, heft, m-etf, m-sct) differ in which task they take next and where they put it.
// Internal to core.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rows.h"
#include "core/machine/device_queues.h"
#include "core/strategies/task_graph.h"

namespace lanescope {

// The machine in thought: a device runs one task at a time; a tensor is copied once to a memory that needs
// it, by the queue that it takes (device_queues.h), and a queue makes one copy after the other. A colocation
// group goes where its first task went, state without tasks where it is first read. Not thread-safe.
class ListSchedule {
 public:
  struct Slot {
    int64_t start = 0;
    int64_t end = 0;
  };
  // The changes that a commit made to other tasks.
  struct Change {
    std::vector<int> ready;    // their last predecessor was it
    std::vector<int> touched;  // ready before, with other StartTerms or candidates now; each once
  };
  // The copies that a task waits for on a device and that one queue makes.
  struct QueuedCopies {
    DeviceQueue queue;
    int64_t ns = 0;  // of all of them
    auto operator<=>(const QueuedCopies&) const = default;
  };
  // Terms of a ready task's start on a device, beside when queues and device are free. It starts
  // when all is there, the device is free, and every queue has made its copies.
  struct StartTerms {
    int64_t there_at = 0;              // if queues and device were always free
    std::vector<QueuedCopies> copies;  // by queue
    int64_t asked_bytes = 0;           // that the device must have room for
  };

  explicit ListSchedule(const TaskGraph& tasks);

  // Devices that the task may go to: its group's, the candidates before the group has one.
  std::vector<DeviceId> Candidates(int task) const;
  // When the task would run there. `insert`: also in a gap before what the device does already.
  Slot Try(int task, DeviceId device, bool insert = false);
  // The result holds until the next commit.
  const Change& Commit(int task, DeviceId device, bool insert = false);
  // Tasks that wait for no other.
  std::vector<int> First() const;

  // The terms of a ready task, whose start these give where nothing is inserted.
  StartTerms TermsOf(int task, DeviceId device) const;
  // When the device has done what was committed so far, and when a queue of copies has. Both only grow.
  int64_t FreeAt(DeviceId device) const { return busy_[device].empty() ? 0 : busy_[device].back().end; }
  int64_t FreeAt(const DeviceQueue& queue) const { return copied_at_[NumberOf(queue)]; }
  // Bytes that the device has room for beside state and results that it holds; results are held until their
  // last reader is committed.
  int64_t RoomOn(DeviceId device) const;
  // Whether state and results of the task find room on the device.
  bool Fits(int task, DeviceId device) const { return AskedBytes(task, device) <= RoomOn(device); }

  int64_t end(int task) const { return end_[static_cast<size_t>(task)]; }
  // With priorities: tasks that start earlier come first.
  Placement ToPlacement(const StrategyInput& input) const;

 private:
  struct Busy {
    int64_t start, end;
  };
  int64_t& Arrival(int tensor, DeviceId place) {
    return arrival_[static_cast<size_t>(tensor) * devices_ + place.index()];
  }
  int64_t Arrival(int tensor, DeviceId place) const {
    return arrival_[static_cast<size_t>(tensor) * devices_ + place.index()];
  }
  static constexpr size_t kNumQueueKinds = static_cast<size_t>(QueueKind::kCopyOut) + 1;
  static size_t NumberOf(const DeviceQueue& queue) {
    return queue.device.index() * kNumQueueKinds + static_cast<size_t>(queue.kind);
  }
  DeviceQueue QueueOf(DeviceId home, DeviceId place) const {
    return CopyQueueOf(tasks_.machine(), tasks_.machine_tasks(), home, place);
  }
  DeviceId HomeOf(const TaskTensor& tensor) const;
  int64_t MadeAt(const TaskTensor& tensor) const { return tensor.producer >= 0 ? end(tensor.producer) : 0; }
  // When the tensor is in the memory of `place`; -1: a copy is needed.
  int64_t ThereAt(int tensor, DeviceId place) const;
  int64_t AskedBytes(int task, DeviceId device) const;
  // Books the copies that the task needs, and says when all that it waits for is there.
  int64_t BookCopies(int task, DeviceId device);
  Slot FindSlot(int task, DeviceId device, int64_t ready_at, bool insert) const;
  void Hold(int task, DeviceId device);
  void Settle(int group, DeviceId device);
  void Touch(std::span<const int> tasks);
  bool IsReady(int task) const {
    return waiting_[static_cast<size_t>(task)] == 0 && start_[static_cast<size_t>(task)] < 0;
  }

  const TaskGraph& tasks_;
  const size_t devices_;
  std::vector<DeviceId> device_of_group_;
  std::vector<int64_t> start_, end_;  // by task; -1: not committed
  std::vector<int64_t> arrival_;      // by (tensor, memory); -1: not there
  mutable CopyTimes copies_;
  std::vector<int64_t> copied_at_;              // by queue: when it has made its copies
  IdVector<DeviceId, std::vector<Busy>> busy_;  // in time
  IdVector<DeviceId, int64_t> held_;            // bytes
  std::vector<int> unread_;                     // by tensor: readers not yet committed
  std::vector<std::vector<int>> outputs_;       // by task: tensors
  std::vector<std::vector<int>> successors_;    // by task
  std::vector<int> waiting_;                    // by task: predecessors not yet committed
  Rows<> readers_;                              // by tensor: tasks
  Rows<> state_;                                // by group: tensors of its state
  Change change_;
};

// By task: the longest way from its start to the end of the step, with launch and copy times in the mean over
// the devices that may run it (the upward rank of HEFT).
std::vector<double> UpwardRanks(const TaskGraph& tasks);
// The mean time of a copy of so many bytes between two different devices.
double MeanCopyNs(const TaskGraph& tasks, int64_t bytes, CopyTimes* times);

}  // namespace lanescope
