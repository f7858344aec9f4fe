#include "core/strategies/list_schedule.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace lanescope {

ListSchedule::ListSchedule(const TaskGraph& tasks)
    : tasks_(tasks),
      devices_(tasks.machine().devices.size()),
      device_of_group_(static_cast<size_t>(tasks.num_groups())),
      start_(static_cast<size_t>(tasks.num_tasks()), -1),
      end_(start_),
      arrival_(tasks.tensors().size() * devices_, -1),
      copies_(tasks),
      engine_free_(devices_, 0),
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
    std::vector<int> before = tasks.task(id).after;
    for (const TaskRead& read : tasks.task(id).reads) {
      ++unread_[static_cast<size_t>(read.tensor)];
      if (tasks.tensor(read.tensor).producer >= 0) before.push_back(tasks.tensor(read.tensor).producer);
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const int other : before) successors_[static_cast<size_t>(other)].push_back(id);
    waiting_[static_cast<size_t>(id)] = static_cast<int>(before.size());
    if (before.empty()) ready_.push_back(id);
  }
}

std::vector<DeviceId> ListSchedule::Candidates(int task) const {
  const int group = tasks_.task(task).group;
  const DeviceId decided = device_of_group_[static_cast<size_t>(group)];
  return decided.exists() ? std::vector{decided} : tasks_.group(group).devices;
}

// None: of state whose group has no device yet.
DeviceId ListSchedule::HomeOf(const TaskTensor& tensor) const {
  if (tensor.producer >= 0) {
    const int group = tasks_.task(tensor.producer).group;
    return tasks_.PlaceOf(tensor, device_of_group_[static_cast<size_t>(group)]);
  }
  return tensor.group < 0 ? tasks_.host() : device_of_group_[static_cast<size_t>(tensor.group)];
}

int64_t ListSchedule::ReadyAt(int task, DeviceId device, IdVector<DeviceId, int64_t>* engines, bool book) {
  int64_t ready = 0;
  for (const int before : tasks_.task(task).after) ready = std::max(ready, end(before));
  for (const TaskRead& read : tasks_.task(task).reads) {
    const TaskTensor& tensor = tasks_.tensor(read.tensor);
    const DeviceId place = tasks_.PlaceOf(read, device);
    const int64_t made = tensor.producer >= 0 ? end(tensor.producer) : 0;
    const DeviceId home = HomeOf(tensor);
    int64_t arrival = Arrival(read.tensor, place);
    if (!home.exists() || home == place) {
      arrival = made;
    } else if (arrival < 0) {
      int64_t& engine = (*engines)[home];
      arrival = engine = std::max(engine, made) + copies_.Ns(home, place, tensor.bytes);
      if (book) Arrival(read.tensor, place) = arrival;
    }
    ready = std::max(ready, arrival);
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
  IdVector<DeviceId, int64_t> engines = engine_free_;
  const int64_t ready = ReadyAt(task, device, &engines, false);
  return FindSlot(task, device, ready, insert);
}

void ListSchedule::Commit(int task, DeviceId device, bool insert) {
  const GraphTask& taken = tasks_.task(task);
  LANESCOPE_CHECK(start_[static_cast<size_t>(task)] < 0 && waiting_[static_cast<size_t>(task)] == 0);
  Hold(task, device);
  const Slot slot = FindSlot(task, device, ReadyAt(task, device, &engine_free_, true), insert);
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
  ready_.erase(std::find(ready_.begin(), ready_.end(), task));
  for (const int next : successors_[static_cast<size_t>(task)]) {
    if (--waiting_[static_cast<size_t>(next)] == 0) ready_.push_back(next);
  }
}

// The group settles, state that only this task's device reads so far settles with it, results are held.
void ListSchedule::Hold(int task, DeviceId device) {
  const auto settle = [&](int group) {
    DeviceId& decided = device_of_group_[static_cast<size_t>(group)];
    const std::vector<DeviceId>& feasible = tasks_.group(group).devices;
    if (decided.exists()) return;
    decided = std::find(feasible.begin(), feasible.end(), device) != feasible.end() ? device : feasible[0];
    held_[decided] += tasks_.group(group).persistent_bytes;
  };
  settle(tasks_.task(task).group);
  for (const TaskRead& read : tasks_.task(task).reads) {
    if (tasks_.tensor(read.tensor).group >= 0) settle(tasks_.tensor(read.tensor).group);
  }
  for (const int output : outputs_[static_cast<size_t>(task)]) {
    const TaskTensor& tensor = tasks_.tensor(output);
    if (unread_[static_cast<size_t>(output)] > 0) held_[tasks_.PlaceOf(tensor, device)] += tensor.bytes;
  }
}

bool ListSchedule::Fits(int task, DeviceId device) const {
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
    const DeviceId home = HomeOf(tensor);
    if (place == device && home.exists() && home != place && Arrival(read.tensor, place) < 0)
      asked += tensor.bytes;
  }
  for (const int output : outputs_[static_cast<size_t>(task)]) {
    if (tasks_.PlaceOf(tasks_.tensor(output), device) == device) asked += tasks_.tensor(output).bytes;
  }
  const int64_t limit = tasks_.machine().device(device).memory_bytes;
  return limit <= 0 || held_[device] + asked <= limit;
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
    const std::vector<DeviceId>& devices = tasks.group(tasks.task(id).group).devices;
    double sum = 0;
    for (const DeviceId device : devices) sum += static_cast<double>(tasks.LaunchNs(id, device));
    mean.push_back(sum / static_cast<double>(devices.size()));
  }
  std::vector<double> copy(tasks.tensors().size(), -1);
  CopyTimes times(tasks);
  std::vector<double> rank = mean;  // grows by the longest way that follows
  for (int id = tasks.num_tasks() - 1; id >= 0; --id) {
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
