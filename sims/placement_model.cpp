#include "sims/placement_model.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "core/dispatch.h"
#include "core/error.h"

namespace lanescope {
namespace {

// Rows of (row, item) pairs in compressed form: `first` gets one entry a row and one more.
template <typename T, typename Visit>
void FillRows(size_t rows, const Visit& visit, std::vector<int>* first, std::vector<T>* items) {
  std::vector<int> count(rows + 1, 0);
  visit([&](size_t row, const T&) { ++count[row + 1]; });
  for (size_t r = 0; r < rows; ++r) count[r + 1] += count[r];
  *first = count;
  items->resize(static_cast<size_t>(count[rows]));
  visit([&](size_t row, const T& item) { (*items)[static_cast<size_t>(count[row]++)] = item; });
}

size_t At(int i) { return static_cast<size_t>(i); }

constexpr int kMostDevices = 64;  // tables are by pairs of devices

}  // namespace

PlacementModel::PlacementModel(const TaskGraph& tasks, const GapModel& gaps)
    : tasks_(tasks), devices_(tasks.num_devices()), host_(tasks.host()) {
  const Machine& machine = tasks.machine();
  if (devices_ > kMostDevices) {
    Throw(Code::kUnimplemented, "a search takes machines of up to {} devices, and this one has {}",
          kMostDevices, devices_);
  }
  step_ns_ = gaps.step_start_ns + gaps.step_finish_ns;
  const auto add_queue = [&](int device, LaneKind kind) {
    const DeviceSpec& spec = machine.device(device);
    Lanes lanes{.in_order = spec.in_order, .gap = gaps.gap(spec.kind, kind)};
    if (kind == LaneKind::kCompute && !spec.in_order) lanes.lanes = LaunchWorkers(spec);
    for (int to = 0; to < kNumLaneKinds; ++to) {
      lanes.handoff_to[to] = gaps.handoff(kind, static_cast<LaneKind>(to));
      any_handoff_ |= lanes.handoff_to[to] > 0;
    }
    queues_.push_back(lanes);
    return static_cast<int>(queues_.size()) - 1;
  };
  for (int d = 0; d < devices_; ++d) add_queue(d, LaneKind::kCompute);
  std::vector<int> in(At(devices_), -1), out(At(devices_), -1);
  for (int d = 0; d < devices_; ++d) {
    if (!machine.device(d).is_gpu()) continue;
    in[At(d)] = add_queue(d, LaneKind::kCopy);
    out[At(d)] = machine.device(d).copy_engines < 2 ? in[At(d)] : add_queue(d, LaneKind::kCopy);
  }
  std::vector<double> capacity;
  for (int r = 0; r < machine.num_resources(); ++r) capacity.push_back(machine.ResourceBandwidth(r));
  num_resources_ = machine.num_resources();
  routes_.resize(At(devices_ * devices_));
  copy_queue_.assign(routes_.size(), -1);
  for (int src = 0; src < devices_; ++src) {
    for (int dst = 0; dst < devices_; ++dst) {
      if (src == dst) continue;
      copy_queue_[Pair(src, dst)] = machine.device(src).is_gpu()   ? out[At(src)]
                                    : machine.device(dst).is_gpu() ? in[At(dst)]
                                                                   : dst;
      Route& route = routes_[Pair(src, dst)];
      route.first = static_cast<int>(passed_.size());
      std::vector<int> resources = machine.RouteBetween(src, dst).resources;
      std::sort(resources.begin(), resources.end());
      resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
      for (const int resource : resources) {
        if (capacity[At(resource)] > 0) passed_.push_back({resource, 1e9 / capacity[At(resource)]});
      }
      route.count = static_cast<int>(passed_.size()) - route.first;
    }
  }
  int64_t most = 0;
  CopyTimes times(tasks);
  for (size_t t = 0; t < tasks.tensors().size(); ++t) {
    most += tasks.tensors()[t].bytes;
    for (int src = 0; src < devices_; ++src) {
      for (int dst = 0; dst < devices_; ++dst)
        copy_ns_.push_back(src == dst ? 0 : times.Ns(src, dst, tasks.tensors()[t].bytes));
    }
  }
  for (const TaskGroup& group : tasks.groups()) most += group.persistent_bytes;
  for (const DeviceSpec& device : machine.devices)
    memory_can_run_out_ |= device.memory_bytes > 0 && device.memory_bytes < most;
  const auto num_tasks = At(tasks.num_tasks());
  FillRows<Use>(
      tasks.tensors().size(),
      [&](const auto& visit) {
        for (int id = 0; id < tasks.num_tasks(); ++id) {
          int number = 0;
          for (const TaskRead& read : tasks.task(id).reads) {
            visit(At(read.tensor), Use{id, number, read.on_host});
            number = std::min(number + 1, kReads - 1);
          }
        }
      },
      &first_use_, &uses_);
  FillRows<int>(
      num_tasks,
      [&](const auto& visit) {
        for (int id = 0; id < tasks.num_tasks(); ++id) {
          for (const int before : tasks.task(id).after) visit(At(before), id);
        }
      },
      &first_after_, &after_);
  FillRows<int>(
      num_tasks,
      [&](const auto& visit) {
        for (size_t t = 0; t < tasks.tensors().size(); ++t) {
          if (const int producer = tasks.tensors()[t].producer; producer >= 0)
            visit(At(producer), static_cast<int>(t));
        }
      },
      &first_output_, &outputs_);
  for (const GraphTask& task : tasks.tasks()) waits_.push_back(static_cast<int>(task.after.size()));
  tail_.assign(num_tasks, 0);
  for (int id = tasks.num_tasks() - 1; id >= 0; --id) {
    const std::vector<int>& devices = tasks.group(tasks.task(id).group).devices;
    int64_t fastest = std::numeric_limits<int64_t>::max();
    for (const int device : devices) fastest = std::min(fastest, tasks.LaunchNs(id, device));
    const int64_t mine = tail_[At(id)] += fastest;
    const auto raise = [&](int before) { tail_[At(before)] = std::max(tail_[At(before)], mine); };
    for (const int before : tasks.task(id).after) raise(before);
    for (const TaskRead& read : tasks.task(id).reads) {
      if (const int producer = tasks.tensor(read.tensor).producer; producer >= 0) raise(producer);
    }
  }
}

PlacementEvaluator::PlacementEvaluator(const PlacementModel& model)
    : m_(model), queues_(model.queues_.size()), resource_free_(At(model.num_resources_), 0) {
  const size_t tasks = At(model.tasks_.num_tasks()), tensors = model.tasks_.tensors().size();
  pending_.resize(tasks);
  first_copy_.resize(tensors);
  home_.resize(tensors);
  unread_.resize(tensors);
  held_.resize(At(model.devices_));
  room_.resize(At(model.devices_));
}

int PlacementEvaluator::DeviceOf(int task) const { return state_->device[At(m_.tasks_.task(task).group)]; }

int PlacementEvaluator::HomeOf(const TaskTensor& tensor) const {
  if (tensor.producer >= 0) return m_.tasks_.PlaceOf(tensor, DeviceOf(tensor.producer));
  return tensor.group < 0 ? m_.host_ : state_->device[At(tensor.group)];
}

int PlacementEvaluator::QueueOf(int item) const {
  const int tasks = m_.tasks_.num_tasks();
  return item < tasks ? DeviceOf(item) : copies_[At(item - tasks)].queue;
}

int PlacementEvaluator::RankOf(int item) const {
  const int tasks = m_.tasks_.num_tasks();
  return item < tasks ? (PlacementModel::kReads + 1) * rank_[At(item)] + PlacementModel::kReads
                      : copies_[At(item - tasks)].rank;
}

// The order that compiling gives launches: what an urgent one waits for is as urgent, and among the possible
// ones the most urgent comes first.
void PlacementEvaluator::RankTasks(const std::vector<int>& priority) {
  if (ranked_ && ranked_for_ == priority) return;
  ranked_ = true;
  ranked_for_ = priority;
  const int tasks = m_.tasks_.num_tasks();
  rank_.resize(At(tasks));
  rank_order_.clear();
  std::vector<int> inherited = priority.empty() ? std::vector<int>(At(tasks), 0) : priority;
  for (int id = tasks - 1; id >= 0; --id) {
    const auto raise = [&](int before) {
      inherited[At(before)] = std::max(inherited[At(before)], inherited[At(id)]);
    };
    for (const int before : m_.tasks_.task(id).after) raise(before);
    for (const TaskRead& read : m_.tasks_.task(id).reads) {
      if (const int producer = m_.tasks_.tensor(read.tensor).producer; producer >= 0) raise(producer);
    }
  }
  std::vector<int> waiting = m_.waits_;
  for (int id = 0; id < tasks; ++id) {
    for (const TaskRead& read : m_.tasks_.task(id).reads)
      waiting[At(id)] += m_.tasks_.tensor(read.tensor).producer >= 0;
  }
  using Key = std::pair<int, int>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  const auto arrive = [&](int id) {
    if (waiting[At(id)] == 0) ready.emplace(-inherited[At(id)], id);
  };
  for (int id = 0; id < tasks; ++id) arrive(id);
  while (!ready.empty()) {
    const int id = ready.top().second;
    ready.pop();
    rank_[At(id)] = static_cast<int>(rank_order_.size());
    rank_order_.push_back(id);
    const auto release = [&](int next) {
      --waiting[At(next)];
      arrive(next);
    };
    for (int i = m_.first_after_[At(id)]; i < m_.first_after_[At(id) + 1]; ++i) release(m_.after_[At(i)]);
    for (int o = m_.first_output_[At(id)]; o < m_.first_output_[At(id) + 1]; ++o) {
      const int tensor = m_.outputs_[At(o)];
      for (int u = m_.first_use_[At(tensor)]; u < m_.first_use_[At(tensor) + 1]; ++u)
        release(m_.uses_[At(u)].task);
    }
  }
  LANESCOPE_CHECK(rank_order_.size() == At(tasks));
}

void PlacementEvaluator::AddCopies(int tensor) {
  const TaskTensor& moved = m_.tasks_.tensor(tensor);
  const int home = home_[At(tensor)];
  const auto copy_to = [&](int place, int rank) {
    for (int c = first_copy_[At(tensor)]; c >= 0; c = copies_[At(c)].next) {
      if (copies_[At(c)].dst != place) continue;
      copies_[At(c)].rank = std::min(copies_[At(c)].rank, rank);
      return c;
    }
    copies_.push_back({.tensor = tensor,
                       .src = home,
                       .dst = place,
                       .queue = m_.CopyQueue(home, place),
                       .rank = rank,
                       .next = first_copy_[At(tensor)],
                       .ns = m_.CopyNs(tensor, home, place)});
    copy_unread_.push_back(0);
    return first_copy_[At(tensor)] = static_cast<int>(copies_.size()) - 1;
  };
  for (int u = m_.first_use_[At(tensor)]; u < m_.first_use_[At(tensor) + 1]; ++u) {
    const PlacementModel::Use& use = m_.uses_[At(u)];
    const int place = use.on_host ? m_.host_ : DeviceOf(use.task);
    if (place == home) {
      pending_[At(use.task)] += moved.producer >= 0;
      ++unread_[At(tensor)];
    } else {
      ++pending_[At(use.task)];
      const int copy = copy_to(place, (PlacementModel::kReads + 1) * rank_[At(use.task)] + use.number);
      ++copy_unread_[At(copy)];
    }
  }
  if (moved.fetched && home != m_.host_) copy_to(m_.host_, INT32_MAX);
  for (int c = first_copy_[At(tensor)]; c >= 0; c = copies_[At(c)].next) ++unread_[At(tensor)];
}

bool PlacementEvaluator::Prepare(const PlacementState& state, double memory_share) {
  state_ = &state;
  RankTasks(state.priority);
  const TaskGraph& tasks = m_.tasks_;
  pending_ = m_.waits_;
  std::fill(unread_.begin(), unread_.end(), 0);
  copies_.clear();
  copy_unread_.clear();
  endings_.clear();
  touched_.clear();
  std::fill(resource_free_.begin(), resource_free_.end(), 0);
  now_ = last_end_ = 0;
  ended_ = 0;
  out_of_memory_ = false;
  for (size_t q = 0; q < queues_.size(); ++q) {
    QueueState& queue = queues_[q];
    queue.ready.clear();
    queue.order.clear();
    queue.next = 0;
    queue.idle = m_.queues_[q].lanes;
    queue.free_at = 0;
    queue.touched = false;
  }
  if (m_.memory_can_run_out_) {
    std::fill(held_.begin(), held_.end(), 0);
    for (int d = 0; d < m_.devices_; ++d) {
      const int64_t limit = tasks.machine().device(d).memory_bytes;
      room_[At(d)] = limit > 0 ? static_cast<int64_t>(memory_share * static_cast<double>(limit))
                               : std::numeric_limits<int64_t>::max();
    }
    for (size_t g = 0; g < state.device.size(); ++g) {
      if (!Hold(state.device[g], tasks.groups()[g].persistent_bytes)) return false;
    }
  }
  for (size_t t = 0; t < home_.size(); ++t) {
    home_[t] = HomeOf(tasks.tensors()[t]);
    first_copy_[t] = -1;
    AddCopies(static_cast<int>(t));
  }
  const int num_tasks = tasks.num_tasks(), items = num_tasks + static_cast<int>(copies_.size());
  for (int item = 0; item < items; ++item) {
    const int queue = QueueOf(item);
    if (m_.queues_[At(queue)].in_order) queues_[At(queue)].order.push_back(item);
    const bool there = item < num_tasks ? pending_[At(item)] == 0
                                        : tasks.tensor(copies_[At(item - num_tasks)].tensor).producer < 0;
    if (there) MakeReady(item);
  }
  for (QueueState& queue : queues_) {
    std::sort(queue.order.begin(), queue.order.end(),
              [&](int a, int b) { return std::pair(RankOf(a), a) < std::pair(RankOf(b), b); });
  }
  return true;
}

bool PlacementEvaluator::Hold(int device, int64_t bytes) {
  if (!m_.memory_can_run_out_) return true;
  held_[At(device)] += bytes;
  out_of_memory_ |= held_[At(device)] > room_[At(device)];
  return !out_of_memory_;
}

void PlacementEvaluator::MakeReady(int item) {
  const int queue = QueueOf(item);
  QueueState& q = queues_[At(queue)];
  q.ready.push_back(static_cast<uint64_t>(static_cast<uint32_t>(RankOf(item))) << 32 |
                    static_cast<uint32_t>(item));
  if (q.ready.size() > 1) std::push_heap(q.ready.begin(), q.ready.end(), std::greater<>());
  if (q.touched) return;
  q.touched = true;
  touched_.push_back(queue);
}

// Starts what may start; false: the step is sure to take longer than the limit.
bool PlacementEvaluator::Dispatch(int queue, int64_t limit) {
  QueueState& q = queues_[At(queue)];
  const PlacementModel::Lanes& lanes = m_.queues_[At(queue)];
  const int num_tasks = m_.tasks_.num_tasks();
  q.touched = false;
  while (!q.ready.empty()) {
    const int item = static_cast<int>(q.ready.front() & 0xFFFFFFFFu);
    if (lanes.in_order && q.order[q.next] != item) return true;
    const bool launch = item < num_tasks;
    const int needs = launch ? std::min(lanes.lanes, m_.tasks_.Workers(item, queue)) : lanes.lanes;
    if (needs > q.idle) return true;
    if (q.ready.size() > 1) std::pop_heap(q.ready.begin(), q.ready.end(), std::greater<>());
    q.ready.pop_back();
    ++q.next;
    q.idle -= needs;
    int64_t start = std::max(now_, lanes.lanes == 1 ? q.free_at : now_);
    int64_t end;
    if (launch) {
      if (start + m_.tail_[At(item)] > limit) return false;
      end = start + m_.tasks_.LaunchNs(item, queue) + (lanes.lanes == 1 ? 0 : lanes.gap);
      if (m_.memory_can_run_out_) {
        for (int o = m_.first_output_[At(item)]; o < m_.first_output_[At(item) + 1]; ++o) {
          const int tensor = m_.outputs_[At(o)];
          if (unread_[At(tensor)] > 0 && !Hold(home_[At(tensor)], m_.tasks_.tensor(tensor).bytes))
            return false;
        }
      }
    } else {
      const Copy& copy = copies_[At(item - num_tasks)];
      const PlacementModel::Route& route = m_.routes_[m_.Pair(copy.src, copy.dst)];
      const int64_t bytes = m_.tasks_.tensor(copy.tensor).bytes;
      for (int i = route.first; i < route.first + route.count; ++i)
        start = std::max(start, resource_free_[At(m_.passed_[At(i)].resource)]);
      for (int i = route.first; i < route.first + route.count; ++i) {
        const PlacementModel::Passed& passed = m_.passed_[At(i)];
        resource_free_[At(passed.resource)] =
            start + static_cast<int64_t>(passed.ns_per_byte * static_cast<double>(bytes));
      }
      end = start + copy.ns;
      if (end > limit || !Hold(copy.dst, bytes)) return false;
    }
    endings_.push_back({end, item, queue});
    std::push_heap(endings_.begin(), endings_.end(), std::greater<>());
  }
  return true;
}

// One that `item` waited for has ended on another queue or the same.
void PlacementEvaluator::Arrived(int item, int from_queue) {
  if (m_.any_handoff_) {
    const int queue = QueueOf(item);
    if (queue != from_queue) {
      const auto kind = queue < m_.devices_ ? LaneKind::kCompute : LaneKind::kCopy;
      const int64_t handoff = m_.queues_[At(from_queue)].handoff_to[static_cast<int>(kind)];
      if (handoff > 0) {
        endings_.push_back({now_ + handoff, item, -1});
        std::push_heap(endings_.begin(), endings_.end(), std::greater<>());
        return;
      }
    }
  }
  MakeReady(item);
}

// Bytes of a tensor, or of a copy of it, that nobody reads any more.
void PlacementEvaluator::Release(int tensor, int place) {
  if (place == home_[At(tensor)]) {
    if (--unread_[At(tensor)] == 0 && m_.tasks_.tensor(tensor).producer >= 0)
      held_[At(place)] -= m_.tasks_.tensor(tensor).bytes;
    return;
  }
  for (int c = first_copy_[At(tensor)]; c >= 0; c = copies_[At(c)].next) {
    if (copies_[At(c)].dst != place) continue;
    if (--copy_unread_[At(c)] == 0) held_[At(place)] -= m_.tasks_.tensor(tensor).bytes;
    return;
  }
}

void PlacementEvaluator::Finish(int item, int queue) {
  QueueState& q = queues_[At(queue)];
  const PlacementModel::Lanes& lanes = m_.queues_[At(queue)];
  const int num_tasks = m_.tasks_.num_tasks();
  ++ended_;
  last_end_ = now_;
  q.free_at = now_ + lanes.gap;
  const auto arrive = [&](int task) {
    if (--pending_[At(task)] == 0) Arrived(task, queue);
  };
  if (item < num_tasks) {
    q.idle += std::min(lanes.lanes, m_.tasks_.Workers(item, queue));
    for (int o = m_.first_output_[At(item)]; o < m_.first_output_[At(item) + 1]; ++o) {
      const int tensor = m_.outputs_[At(o)];
      for (int c = first_copy_[At(tensor)]; c >= 0; c = copies_[At(c)].next) Arrived(num_tasks + c, queue);
      for (int u = m_.first_use_[At(tensor)]; u < m_.first_use_[At(tensor) + 1]; ++u) {
        const PlacementModel::Use& use = m_.uses_[At(u)];
        if ((use.on_host ? m_.host_ : DeviceOf(use.task)) == home_[At(tensor)]) arrive(use.task);
      }
    }
    for (int i = m_.first_after_[At(item)]; i < m_.first_after_[At(item) + 1]; ++i) arrive(m_.after_[At(i)]);
    if (m_.memory_can_run_out_) {
      for (const TaskRead& read : m_.tasks_.task(item).reads)
        Release(read.tensor, read.on_host ? m_.host_ : DeviceOf(item));
    }
  } else {
    q.idle += lanes.lanes;
    const Copy& copy = copies_[At(item - num_tasks)];
    const int tensor = copy.tensor, dst = copy.dst;
    for (int u = m_.first_use_[At(tensor)]; u < m_.first_use_[At(tensor) + 1]; ++u) {
      const PlacementModel::Use& use = m_.uses_[At(u)];
      if ((use.on_host ? m_.host_ : DeviceOf(use.task)) == dst) arrive(use.task);
    }
    if (m_.memory_can_run_out_) {
      if (copy_unread_[At(item - num_tasks)] == 0) held_[At(dst)] -= m_.tasks_.tensor(tensor).bytes;
      Release(tensor, home_[At(tensor)]);
    }
  }
  if (q.touched || q.ready.empty()) return;
  q.touched = true;
  touched_.push_back(queue);
}

int64_t PlacementEvaluator::Evaluate(const PlacementState& state, int64_t limit_ns, double memory_share) {
  if (!Prepare(state, memory_share)) return kTooLong;
  const int64_t limit = limit_ns - m_.step_ns_;
  while (true) {
    for (size_t i = 0; i < touched_.size(); ++i) {
      if (!Dispatch(touched_[i], limit)) return kTooLong;
    }
    touched_.clear();
    if (endings_.empty()) break;
    now_ = endings_.front().time;
    while (!endings_.empty() && endings_.front().time == now_) {
      std::pop_heap(endings_.begin(), endings_.end(), std::greater<>());
      const Ending ending = endings_.back();
      endings_.pop_back();
      if (ending.queue < 0) {
        MakeReady(ending.item);
      } else {
        Finish(ending.item, ending.queue);
      }
    }
  }
  LANESCOPE_CHECK(ended_ == At(m_.tasks_.num_tasks()) + copies_.size());
  const int64_t step = last_end_ + m_.step_ns_;
  return step > limit_ns ? kTooLong : step;
}

}  // namespace lanescope
