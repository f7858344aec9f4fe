// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/list_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/stop_point.h"

namespace lanescope {

ListSchedule::ListSchedule(const TaskGraph& tasks)
    : tasks_(tasks),
      devices_(tasks.machine().devices.size()),
      device_of_group_(static_cast<size_t>(tasks.num_groups())),
      start_(static_cast<size_t>(tasks.num_tasks()), -1),
      end_(start_),
      arrival_(tasks.tensors().size() * devices_, -1),
      copies_(tasks),
      copied_at_(devices_ * kNumQueueKinds, 0),
      busy_(devices_),
      held_(devices_, 0),
      unread_(tasks.tensors().size(), 0),
      outputs_(start_.size()),
      successors_(start_.size()),
      waiting_(start_.size(), 0) {
  for (size_t t = 0; t < tasks.tensors().size(); ++t) {
    const int producer = tasks.tensors()[t].producer;
    if (producer >= 0) outputs_[static_cast<size_t>(producer)].push_back(static_cast<int>(t));
  }
  for (int id = 0; id < tasks.num_tasks(); ++id) {
    StopPoint();
    std::vector<int> before = tasks.task(id).after;
    for (const TaskRead& read : tasks.task(id).reads) {
      ++unread_[static_cast<size_t>(read.tensor)];
      if (tasks.tensor(read.tensor).producer >= 0) before.push_back(tasks.tensor(read.tensor).producer);
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const int other : before) successors_[static_cast<size_t>(other)].push_back(id);
    waiting_[static_cast<size_t>(id)] = static_cast<int>(before.size());
  }
  readers_ = MakeRows(tasks.tensors().size(), [&](const auto& add) {
    for (int id = 0; id < tasks.num_tasks(); ++id) {
      for (const TaskRead& read : tasks.task(id).reads) add(read.tensor, id);
    }
  });
  state_ = MakeRows(tasks.groups().size(), [&](const auto& add) {
    for (size_t t = 0; t < tasks.tensors().size(); ++t) {
      if (const int group = tasks.tensors()[t].group; group >= 0) add(group, static_cast<int>(t));
    }
  });
}

std::vector<int> ListSchedule::First() const {
  std::vector<int> first;
  for (int id = 0; id < tasks_.num_tasks(); ++id) {
    if (waiting_[static_cast<size_t>(id)] == 0) first.push_back(id);
  }
  return first;
}

std::vector<DeviceId> ListSchedule::Candidates(int task) const {
  const int group = tasks_.task(task).group;
  const DeviceId decided = device_of_group_[static_cast<size_t>(group)];
  if (decided.exists()) return {decided};
  const std::vector<DeviceId>& feasible = tasks_.group(group).devices;
  std::vector<DeviceId> rated = tasks_.Candidates(task);
  const auto fits = [&](DeviceId device) { return Fits(task, device); };
  // A device without a rate is better than none with room.
  return rated.size() == feasible.size() || std::ranges::any_of(rated, fits) ? rated : feasible;
}

// None: of state whose group has no device yet.
DeviceId ListSchedule::HomeOf(const TaskTensor& tensor) const {
  if (tensor.producer >= 0) {
    const int group = tasks_.task(tensor.producer).group;
    return tasks_.PlaceOf(tensor, device_of_group_[static_cast<size_t>(group)]);
  }
  return tensor.group < 0 ? tasks_.host() : device_of_group_[static_cast<size_t>(tensor.group)];
}

int64_t ListSchedule::ThereAt(int tensor, DeviceId place) const {
  const DeviceId home = HomeOf(tasks_.tensor(tensor));
  if (!home.exists() || home == place) return MadeAt(tasks_.tensor(tensor));
  return Arrival(tensor, place);
}

ListSchedule::StartTerms ListSchedule::TermsOf(int task, DeviceId device) const {
  StartTerms terms;
  terms.asked_bytes = AskedBytes(task, device);
  for (const int before : tasks_.task(task).after) terms.there_at = std::max(terms.there_at, end(before));
  std::vector<int64_t> through;  // by queue: when it would have made its copies if it was free before
  for (const TaskRead& read : tasks_.task(task).reads) {
    const DeviceId place = tasks_.PlaceOf(read, device);
    if (const int64_t there = ThereAt(read.tensor, place); there >= 0) {
      terms.there_at = std::max(terms.there_at, there);
      continue;
    }
    const TaskTensor& tensor = tasks_.tensor(read.tensor);
    const DeviceId home = HomeOf(tensor);
    const DeviceQueue taken = QueueOf(home, place);
    const auto queue = std::ranges::lower_bound(terms.copies, taken, {}, &QueuedCopies::queue);
    const auto number = queue - terms.copies.begin();
    if (queue == terms.copies.end() || queue->queue != taken) {
      terms.copies.insert(queue, {taken, 0});
      through.insert(through.begin() + number, 0);
    }
    const int64_t ns = copies_.Ns(home, place, tensor.bytes);
    terms.copies[static_cast<size_t>(number)].ns += ns;
    int64_t& end = through[static_cast<size_t>(number)];
    end = std::max(end, MadeAt(tensor)) + ns;
  }
  for (const int64_t end : through) terms.there_at = std::max(terms.there_at, end);
  return terms;
}

int64_t ListSchedule::BookCopies(int task, DeviceId device) {
  int64_t ready = 0;
  for (const int before : tasks_.task(task).after) ready = std::max(ready, end(before));
  for (const TaskRead& read : tasks_.task(task).reads) {
    const DeviceId place = tasks_.PlaceOf(read, device);
    int64_t there = ThereAt(read.tensor, place);
    if (there < 0) {
      const TaskTensor& tensor = tasks_.tensor(read.tensor);
      const DeviceId home = HomeOf(tensor);
      int64_t& free = copied_at_[NumberOf(QueueOf(home, place))];
      free = std::max(free, MadeAt(tensor)) + copies_.Ns(home, place, tensor.bytes);
      Arrival(read.tensor, place) = there = free;
      Touch(readers_[read.tensor]);
    }
    ready = std::max(ready, there);
  }
  return ready;
}

ListSchedule::Slot ListSchedule::FindSlot(int task, DeviceId device, int64_t ready_at, bool insert) const {
  const int64_t length = tasks_.LaunchNs(task, device);
  const std::vector<Busy>& busy = busy_[device];
  int64_t start = ready_at;
  if (!insert) {
    if (!busy.empty()) start = std::max(start, busy.back().end);
    return {start, start + length};
  }
  const auto first = std::lower_bound(busy.begin(), busy.end(), ready_at,
                                      [](const Busy& b, int64_t time) { return b.end < time; });
  for (auto next = first; next != busy.end() && next->start < start + length; ++next)
    start = std::max(start, next->end);
  return {start, start + length};
}

ListSchedule::Slot ListSchedule::Try(int task, DeviceId device, bool insert) {
  const StartTerms terms = TermsOf(task, device);
  int64_t ready = terms.there_at;
  for (const QueuedCopies& copies : terms.copies) ready = std::max(ready, FreeAt(copies.queue) + copies.ns);
  return FindSlot(task, device, ready, insert);
}

const ListSchedule::Change& ListSchedule::Commit(int task, DeviceId device, bool insert) {
  const GraphTask& taken = tasks_.task(task);
  StopPoint();
  LANESCOPE_CHECK(IsReady(task));
  change_.ready.clear();
  change_.touched.clear();
  Hold(task, device);
  const Slot slot = FindSlot(task, device, BookCopies(task, device), insert);
  start_[static_cast<size_t>(task)] = slot.start;
  end_[static_cast<size_t>(task)] = slot.end;
  std::vector<Busy>& busy = busy_[device];
  busy.insert(std::upper_bound(busy.begin(), busy.end(), slot.start,
                               [](int64_t time, const Busy& b) { return time < b.start; }),
              {slot.start, slot.end});
  for (const TaskRead& read : taken.reads) {
    const TaskTensor& tensor = tasks_.tensor(read.tensor);
    if (--unread_[static_cast<size_t>(read.tensor)] == 0 && tensor.producer >= 0)
      held_[HomeOf(tensor)] -= tensor.bytes;
  }
  std::sort(change_.touched.begin(), change_.touched.end());
  change_.touched.erase(std::unique(change_.touched.begin(), change_.touched.end()), change_.touched.end());
  std::erase(change_.touched, task);
  for (const int next : successors_[static_cast<size_t>(task)]) {
    if (--waiting_[static_cast<size_t>(next)] == 0) change_.ready.push_back(next);
  }
  return change_;
}

void ListSchedule::Touch(std::span<const int> tasks) {
  for (const int task : tasks) {
    if (IsReady(task)) change_.touched.push_back(task);
  }
}

void ListSchedule::Settle(int group, DeviceId device) {
  DeviceId& decided = device_of_group_[static_cast<size_t>(group)];
  if (decided.exists()) return;
  const std::vector<DeviceId>& feasible = tasks_.group(group).devices;
  decided = std::find(feasible.begin(), feasible.end(), device) != feasible.end() ? device : feasible[0];
  held_[decided] += tasks_.group(group).persistent_bytes;
  Touch(tasks_.group(group).tasks);
  for (const int tensor : state_[group]) Touch(readers_[tensor]);
}

// The group settles, state that only this task's device reads so far settles with it, results are held.
void ListSchedule::Hold(int task, DeviceId device) {
  Settle(tasks_.task(task).group, device);
  for (const TaskRead& read : tasks_.task(task).reads) {
    if (tasks_.tensor(read.tensor).group >= 0) Settle(tasks_.tensor(read.tensor).group, device);
  }
  for (const int output : outputs_[static_cast<size_t>(task)]) {
    const TaskTensor& tensor = tasks_.tensor(output);
    if (unread_[static_cast<size_t>(output)] > 0) held_[tasks_.PlaceOf(tensor, device)] += tensor.bytes;
  }
}

int64_t ListSchedule::AskedBytes(int task, DeviceId device) const {
  int64_t asked = 0;
  const auto ask = [&](int group) {
    if (group >= 0 && !device_of_group_[static_cast<size_t>(group)].exists())
      asked += tasks_.group(group).persistent_bytes;
  };
  ask(tasks_.task(task).group);
  for (const TaskRead& read : tasks_.task(task).reads) {
    const TaskTensor& tensor = tasks_.tensor(read.tensor);
    if (tensor.group != tasks_.task(task).group) ask(tensor.group);
    const DeviceId place = tasks_.PlaceOf(read, device);
    if (place == device && ThereAt(read.tensor, place) < 0) asked += tensor.bytes;
  }
  for (const int output : outputs_[static_cast<size_t>(task)]) {
    if (tasks_.PlaceOf(tasks_.tensor(output), device) == device) asked += tasks_.tensor(output).bytes;
  }
  return asked;
}

int64_t ListSchedule::RoomOn(DeviceId device) const {
  const int64_t limit = tasks_.machine().device(device).memory_bytes;
  return limit <= 0 ? std::numeric_limits<int64_t>::max() : limit - held_[device];
}

Placement ListSchedule::ToPlacement(const StrategyInput& input) const {
  std::vector<DeviceId> devices = device_of_group_;
  for (size_t g = 0; g < devices.size(); ++g) {
    if (!devices[g].exists()) devices[g] = tasks_.group(static_cast<int>(g)).devices[0];
  }
  std::vector<int> order(start_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return start_[static_cast<size_t>(a)] < start_[static_cast<size_t>(b)];
  });
  std::vector<int> priority(start_.size());
  for (size_t i = 0; i < order.size(); ++i)
    priority[static_cast<size_t>(order[i])] = static_cast<int>(order.size() - i);
  return tasks_.ToPlacement(input, devices, priority);
}

double MeanCopyNs(const TaskGraph& tasks, int64_t bytes, CopyTimes* times) {
  constexpr int kMostAsked = 8;  // of a large machine the devices at equal distances
  const int step = (tasks.num_devices() + kMostAsked - 1) / kMostAsked;
  double sum = 0;
  int pairs = 0;
  for (int src = 0; src < tasks.num_devices(); src += step) {
    for (int dst = 0; dst < tasks.num_devices(); dst += step) {
      if (src == dst) continue;
      sum += static_cast<double>(times->Ns(DeviceId(src), DeviceId(dst), bytes));
      ++pairs;
    }
  }
  return pairs > 0 ? sum / pairs : 0;
}

std::vector<double> UpwardRanks(const TaskGraph& tasks) {
  std::vector<double> mean;
  for (int id = 0; id < tasks.num_tasks(); ++id) {
    const std::vector<DeviceId> devices = tasks.Candidates(id);
    double sum = 0;
    for (const DeviceId device : devices) sum += static_cast<double>(tasks.LaunchNs(id, device));
    mean.push_back(sum / static_cast<double>(devices.size()));
  }
  std::vector<double> copy(tasks.tensors().size(), -1);
  CopyTimes times(tasks);
  std::vector<double> rank = mean;  // grows by the longest way that follows
  for (int id = tasks.num_tasks() - 1; id >= 0; --id) {
    StopPoint();
    const double mine = rank[static_cast<size_t>(id)];
    const auto raise = [&](int before, double way) {
      double& r = rank[static_cast<size_t>(before)];
      r = std::max(r, mean[static_cast<size_t>(before)] + way + mine);
    };
    for (const int before : tasks.task(id).after) raise(before, 0);
    for (const TaskRead& read : tasks.task(id).reads) {
      const TaskTensor& tensor = tasks.tensor(read.tensor);
      if (tensor.producer < 0) continue;
      double& ns = copy[static_cast<size_t>(read.tensor)];
      if (ns < 0) ns = MeanCopyNs(tasks, tensor.bytes, &times);
      raise(tensor.producer, ns);
    }
  }
  return rank;
}

}  // namespace lanescope
