// SPDX-License-Identifier: Apache-2.0
// The layout that compiling makes of a placement, from the tables of PlacementModel alone: which copies, on
// which queues, in which order. Internal to sims.
#pragma once

#include <cstdint>
#include <vector>

#include "sims/search/placement_model.h"
#include "sims/search/task_order.h"

namespace lanescope::sims {

// Lays out one placement after the other; makes again only what the last change touches. The result depends
// on the placement alone and not on those before. Items are tasks, and behind their numbers those that copies
// of a tensor may have (PlacementModel::first_copy_). One a thread.
class PlacementLayout {
 public:
  explicit PlacementLayout(const PlacementModel& model);

  struct Copy {
    DeviceId src{0}, dst{0};
    int tensor = -1;
    int from = -1;       // the copy that it is made of; -1: of the tensor at its home
    int first_use = -1;  // of those that read it, by next_use
    int readers = 0;     // tasks, and copies made of it
    CopyOrder order;
    int position = 0;  // of the launch that it comes before
  };

  void Change(const PlacementState& state);

  DeviceId device(int task) const { return device_[IndexOf(task)]; }
  // Where the tensor is made, or lies when the step begins.
  DeviceId home(int tensor) const { return home_[IndexOf(tensor)]; }
  // Uses of a tensor at its home: the first, and after each the next one of the same list; -1: no more.
  int first_use(int tensor) const { return first_use_[IndexOf(tensor)]; }
  int next_use(int use) const { return next_use_[IndexOf(use)]; }
  // That read the tensor at its home, its copies among them.
  int readers(int tensor) const { return readers_[IndexOf(tensor)]; }
  // The copies of a tensor, by the numbers of copies.
  int first_copy(int tensor) const { return m_.first_copy_[IndexOf(tensor)]; }
  int end_copy(int tensor) const { return first_copy(tensor) + num_copies_[IndexOf(tensor)]; }
  const Copy& copy(int number) const { return copies_[IndexOf(number)]; }
  // The copy of a tensor to a device that is not its home.
  int CopyTo(int tensor, DeviceId place) const;

  int queue(int item) const { return queue_[IndexOf(item)]; }
  int64_t ns(int item) const { return ns_[IndexOf(item)]; }
  int rank(int item) const { return rank_[IndexOf(item)]; }
  // By rank.
  const std::vector<int>& items() const { return items_; }
  // By item: how many ends it waits for.
  const std::vector<int>& pending() const { return pending_; }
  // By queue; empty for those that are not in order.
  const std::vector<std::vector<int>>& orders() const { return orders_; }

 private:
  DeviceId HomeOf(int tensor, const PlacementState& state) const;
  void PlaceTasks(const PlacementState& state, int group);
  void PlaceTensor(int tensor);
  int Bring(int tensor, DeviceId dst, CopyOrder order);
  int AddCopy(int tensor, int from, DeviceId dst, const CopyOrder& order);
  void SetPosition(int copy);
  void Rank();

  const PlacementModel& m_;
  TaskOrder order_;
  std::vector<DeviceId> placed_;  // by group
  std::vector<DeviceId> device_;  // by task
  std::vector<DeviceId> home_;    // by tensor
  std::vector<int> first_use_, readers_, num_copies_;
  std::vector<int> next_use_;   // by use
  std::vector<char> away_;      // by use of what no task makes: a copy of it is read
  std::vector<Copy> copies_;    // by number
  std::vector<int> next_copy_;  // by number: of the same position
  std::vector<int> copy_at_;    // by position: the first copy
  std::vector<int> queue_, rank_, items_, pending_;
  std::vector<int64_t> ns_;
  std::vector<std::vector<int>> orders_;
  std::vector<int> changed_;      // tensors
  std::vector<char> is_changed_;  // by tensor
};

}  // namespace lanescope::sims
