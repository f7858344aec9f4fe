// SPDX-License-Identifier: Apache-2.0
#include "sims/search/placement_layout.h"

#include <algorithm>

namespace lanescope::sims {

PlacementLayout::PlacementLayout(const PlacementModel& model) : m_(model), order_(model.tasks_) {
  const size_t tensors = model.tensor_.size();
  const size_t tasks = model.group_.size();
  const size_t copies = IndexOf(model.first_copy_.back());
  device_.resize(tasks);
  home_.resize(tensors);
  first_use_.assign(tensors, -1);
  readers_.resize(tensors);
  num_copies_.assign(tensors, 0);
  next_use_.resize(model.uses_.items.size());
  away_.assign(next_use_.size(), 0);
  copies_.resize(copies);
  next_copy_.resize(copies);
  copy_at_.resize(tasks + 1);
  queue_.resize(tasks + copies);
  rank_.resize(tasks + copies);
  ns_.resize(tasks + copies);
  pending_ = model.waits_;
  pending_.resize(tasks + copies);
  orders_.resize(model.queues_.size());
  is_changed_.assign(tensors, 0);
  for (int t = 0; t < static_cast<int>(tensors); ++t) {
    for (int c = first_copy(t); c < m_.first_copy_[IndexOf(t) + 1]; ++c) {
      copies_[IndexOf(c)].tensor = t;
    }
  }
}

DeviceId PlacementLayout::HomeOf(int number, const PlacementState& state) const {
  const PlacementModel::Tensor& tensor = m_.tensor(number);
  if (tensor.producer >= 0) {
    const DeviceId maker = device(tensor.producer);
    return tensor.on_host ? m_.tasks_.HostOf(maker) : maker;
  }
  return tensor.group < 0 ? m_.host_ : state.device[IndexOf(tensor.group)];
}

int PlacementLayout::CopyTo(int tensor, DeviceId place) const {
  int copy = first_copy(tensor);
  while (copies_[IndexOf(copy)].dst != place) ++copy;
  return copy;
}

void PlacementLayout::PlaceTasks(const PlacementState& state, int group) {
  const DeviceId device = state.device[IndexOf(group)];
  for (const int task : m_.tasks_.group(group).tasks) {
    device_[IndexOf(task)] = device;
    queue_[IndexOf(task)] = device.number();  // launches of device d run on queue d
    ns_[IndexOf(task)] = m_.LaunchNs(task, device);
  }
  for (const int tensor : m_.tensors_of_[group]) {
    if (is_changed_[IndexOf(tensor)]) continue;
    is_changed_[IndexOf(tensor)] = 1;
    changed_.push_back(tensor);
  }
}

void PlacementLayout::Change(const PlacementState& state) {
  const bool first = placed_.empty();
  if (first) placed_.resize(state.device.size());
  bool moved = first;
  changed_.clear();
  for (size_t g = 0; g < placed_.size(); ++g) {
    if (!first && placed_[g] == state.device[g]) continue;
    placed_[g] = state.device[g];
    moved = true;
    PlaceTasks(state, static_cast<int>(g));
  }
  const bool ordered = order_.Prioritise(state.priority);
  if (!moved && !ordered) return;
  for (const int tensor : changed_) {
    is_changed_[IndexOf(tensor)] = 0;
    if (ordered || first) continue;
    home_[IndexOf(tensor)] = HomeOf(tensor, state);
    PlaceTensor(tensor);
  }
  for (int tensor = 0; (ordered || first) && tensor < static_cast<int>(home_.size()); ++tensor) {
    home_[IndexOf(tensor)] = HomeOf(tensor, state);
    PlaceTensor(tensor);
  }
  Rank();
}

// The number of the copy to `dst`, made with those on the way where there is none; all are as urgent as what
// they serve.
int PlacementLayout::Bring(int tensor, DeviceId dst, CopyOrder order) {
  int number = first_copy(tensor);
  while (number < end_copy(tensor) && copies_[IndexOf(number)].dst != dst) ++number;
  if (number < end_copy(tensor)) {
    for (int on_way = number; on_way >= 0; on_way = copies_[IndexOf(on_way)].from) {
      int& priority = copies_[IndexOf(on_way)].order.priority;
      priority = std::max(priority, order.priority);
    }
    return number;
  }
  const DeviceId stop = m_.StopBefore(home(tensor), dst);
  const int from = stop == home(tensor) ? -1 : Bring(tensor, stop, order);
  if (from >= 0) {
    ++copies_[IndexOf(from)].readers;
    order.stops = copies_[IndexOf(from)].order.stops + 1;
  }
  return AddCopy(tensor, from, dst, order);
}

int PlacementLayout::AddCopy(int tensor, int from, DeviceId dst, const CopyOrder& order) {
  const int number = end_copy(tensor);
  ++num_copies_[IndexOf(tensor)];
  Copy& copy = copies_[IndexOf(number)];
  copy.from = from;
  copy.src = from < 0 ? home(tensor) : copies_[IndexOf(from)].dst;
  copy.dst = dst;
  copy.first_use = -1;
  copy.readers = 0;
  copy.order = order;
  const size_t item = device_.size() + IndexOf(number);
  queue_[item] = m_.CopyQueue(copy.src, dst);
  ns_[item] = m_.CopyNs(tensor, copy.src, dst);
  pending_[item] = from < 0 ? m_.tensor(tensor).waits : 1;
  return number;
}

void PlacementLayout::SetPosition(int number) {
  Copy& copy = copies_[IndexOf(number)];
  if (copy.order.first_reader >= 0) {
    const PlacementModel::Tensor& tensor = m_.tensor(copy.tensor);
    if (tensor.producer >= 0) copy.order.after = order_.rank(tensor.producer);
    for (const int before : m_.tasks_.tensor(copy.tensor).copied_after)
      copy.order.after = std::max(copy.order.after, order_.rank(before));
  }
  copy.position = order_.PositionOf(copy.order);
}

void PlacementLayout::PlaceTensor(int tensor) {
  const PlacementModel::Tensor& placed = m_.tensor(tensor);
  const DeviceId home = home_[IndexOf(tensor)];
  const auto uses = m_.uses_[tensor];
  const int first = m_.uses_.first[IndexOf(tensor)];
  num_copies_[IndexOf(tensor)] = 0;
  int at_home = -1, readers = 0;
  for (int u = first; u < first + static_cast<int>(uses.size()); ++u) {
    const PlacementModel::Use& use = uses[IndexOf(u - first)];
    const DeviceId place = m_.PlaceOf(use, device(use.task));
    const bool away = place != home;
    if (placed.producer < 0) {
      pending_[IndexOf(use.task)] += away - away_[IndexOf(u)];
      away_[IndexOf(u)] = away;
    }
    if (!away) {
      next_use_[IndexOf(u)] = at_home;
      at_home = u;
      ++readers;
      continue;
    }
    Copy& copy = copies_[IndexOf(
        Bring(tensor, place,
              {.first_reader = use.task, .number = use.number, .priority = order_.urgency(use.task)}))];
    next_use_[IndexOf(u)] = copy.first_use;
    copy.first_use = u;
    ++copy.readers;
  }
  if (placed.fetch >= 0 && home != m_.host_) Bring(tensor, m_.host_, {.number = placed.fetch});
  for (int number = first_copy(tensor); number < end_copy(tensor); ++number) SetPosition(number);
  first_use_[IndexOf(tensor)] = at_home;
  for (int number = first_copy(tensor); number < end_copy(tensor); ++number)
    readers += copies_[IndexOf(number)].from < 0;
  readers_[IndexOf(tensor)] = readers;
}

// Every item has its own rank: the tasks in their order, each after the copies for its position.
void PlacementLayout::Rank() {
  // A sorted list of copies for each position; hardly ever more than a few.
  std::fill(copy_at_.begin(), copy_at_.end(), -1);
  for (int tensor = 0; tensor < static_cast<int>(home_.size()); ++tensor) {
    for (int number = first_copy(tensor); number < end_copy(tensor); ++number) {
      const Copy& copy = copies_[IndexOf(number)];
      int* at = &copy_at_[IndexOf(copy.position)];
      while (*at >= 0 && !copy.order.IsBefore(copies_[IndexOf(*at)].order)) at = &next_copy_[IndexOf(*at)];
      next_copy_[IndexOf(number)] = *at;
      *at = number;
    }
  }
  const auto tasks = static_cast<int>(device_.size());
  items_.clear();
  const auto add = [&](int item) {
    rank_[IndexOf(item)] = static_cast<int>(items_.size());
    items_.push_back(item);
  };
  for (int position = 0; position <= tasks; ++position) {
    for (int copy = copy_at_[IndexOf(position)]; copy >= 0; copy = next_copy_[IndexOf(copy)])
      add(tasks + copy);
    if (position < tasks) add(order_.task_at(position));
  }
  for (size_t q = 0; q < orders_.size(); ++q) orders_[q].clear();
  if (!m_.any_in_order_) return;
  for (const int item : items_) {
    if (m_.queues_[IndexOf(queue(item))].in_order) orders_[IndexOf(queue(item))].push_back(item);
  }
}

}  // namespace lanescope::sims
