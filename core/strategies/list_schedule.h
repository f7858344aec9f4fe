// A schedule in the making: tasks get a device and a time, one after the other. The list-scheduling
// strategies (greedy, heft, m-etf, m-sct) differ in which task they take next and where they put it.
// Internal to core.
#pragma once

#include <cstdint>
#include <vector>

#include "core/strategies/task_graph.h"

namespace lanescope {

// The machine in thought: a device runs one task at a time; a tensor is copied once to a memory that needs
// it, by the engine of the device it leaves, one copy after the other. A colocation group goes where its
// first task went, state without tasks where it is first read. Not thread-safe.
class ListSchedule {
 public:
  struct Slot {
    int64_t start = 0;
    int64_t end = 0;
  };

  explicit ListSchedule(const TaskGraph& tasks);

  // Devices that the task may go to: its group's, all that are feasible before the group has one.
  std::vector<DeviceId> Candidates(int task) const;
  // When the task would run there. `insert`: also in a gap before what the device does already.
  Slot Try(int task, DeviceId device, bool insert = false);
  void Commit(int task, DeviceId device, bool insert = false);
  // Tasks whose predecessors are all committed, in the order in which that came about.
  const std::vector<int>& ready() const { return ready_; }

  // Whether state and results of the task find room on the device. Results are held until their last reader
  // is committed.
  bool Fits(int task, DeviceId device) const;

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
  DeviceId HomeOf(const TaskTensor& tensor) const;
  // When all that the task reads is there; books the copies if asked to.
  int64_t ReadyAt(int task, DeviceId device, IdVector<DeviceId, int64_t>* engines, bool book);
  Slot FindSlot(int task, DeviceId device, int64_t ready_at, bool insert) const;
  void Hold(int task, DeviceId device);

  const TaskGraph& tasks_;
  const size_t devices_;
  std::vector<DeviceId> device_of_group_;
  std::vector<int64_t> start_, end_;  // by task; -1: not committed
  std::vector<int64_t> arrival_;      // by (tensor, memory); -1: not there
  CopyTimes copies_;
  IdVector<DeviceId, int64_t> engine_free_;     // of the device that copies leave
  IdVector<DeviceId, std::vector<Busy>> busy_;  // in time
  IdVector<DeviceId, int64_t> held_;            // bytes
  std::vector<int> unread_;                     // by tensor: readers not yet committed
  std::vector<std::vector<int>> outputs_;       // by task: tensors
  std::vector<std::vector<int>> successors_;    // by task
  std::vector<int> waiting_;                    // by task: predecessors not yet committed
  std::vector<int> ready_;
};

// By task: the longest way from its start to the end of the step, with launch and copy times in the mean over
// the devices that may run it (the upward rank of HEFT).
std::vector<double> UpwardRanks(const TaskGraph& tasks);
// The mean time of a copy of so many bytes between two different devices.
double MeanCopyNs(const TaskGraph& tasks, int64_t bytes, CopyTimes* times);

}  // namespace lanescope
