#include "sims/placement_model.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>

#include "core/base/error.h"
#include "core/schedule/dispatch.h"

namespace lanescope::sims {
namespace {

template <typename Number>
size_t At(Number number) {
  return IndexOf(number);
}

constexpr int kMostDevices = 64;  // tables are by pairs of devices

}  // namespace

PlacementModel::PlacementModel(const TaskGraph& tasks, const GapModel& gaps)
    : tasks_(tasks), devices_(tasks.num_devices()), host_(tasks.host()), gaps_(gaps) {
  const Machine& machine = tasks.machine();
  if (devices_ > kMostDevices) {
    Throw(Code::kUnimplemented, "a search takes machines of up to {} devices, and this one has {}",
          kMostDevices, devices_);
  }
  for (const auto& from : gaps.handoff_ns) {
    for (const int64_t ns : from) any_handoff_ |= ns > 0;
  }
  const auto add_queue = [&](DeviceId device, QueueClass kind) {
    const DeviceSpec& spec = machine.device(device);
    QueueSpec queue_spec{.in_order = spec.in_order,
                         .kind = kind,
                         .gap = gaps.gap(spec.kind, kind),
                         .wake = gaps.wake(spec.kind, kind)};
    if (spec.in_order) queue_spec.issue = gaps.issue(spec.kind);
    if (kind == QueueClass::kCompute && !spec.in_order) queue_spec.servers = LaunchWorkers(spec);
    queues_.push_back(queue_spec);
    return static_cast<int>(queues_.size()) - 1;
  };
  for (const DeviceId d : machine.devices.ids()) add_queue(d, QueueClass::kCompute);
  IdVector<DeviceId, int> in(machine.devices.size(), -1), out(in);
  for (const DeviceId d : machine.devices.ids()) {
    if (!machine.device(d).is_gpu()) continue;
    in[d] = add_queue(d, QueueClass::kCopy);
    out[d] = machine.device(d).copy_engines < 2 ? in[d] : add_queue(d, QueueClass::kCopy);
  }
  std::vector<double> capacity;
  for (int r = 0; r < machine.num_resources(); ++r) capacity.push_back(machine.ResourceBandwidth(r));
  num_resources_ = machine.num_resources();
  routes_.resize(At(devices_ * devices_));
  copy_queue_.assign(routes_.size(), -1);
  for (const DeviceId src : machine.devices.ids()) {
    for (const DeviceId dst : machine.devices.ids()) {
      if (src == dst) continue;
      copy_queue_[Pair(src, dst)] = machine.device(src).is_gpu()   ? out[src]
                                    : machine.device(dst).is_gpu() ? in[dst]
                                                                   : dst.number();
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
    for (const DeviceId src : machine.devices.ids()) {
      for (const DeviceId dst : machine.devices.ids())
        copy_ns_.push_back(src == dst ? 0 : times.Ns(src, dst, tasks.tensors()[t].bytes));
    }
  }
  for (const TaskGroup& group : tasks.groups()) most += group.persistent_bytes;
  for (const DeviceSpec& device : machine.devices)
    memory_can_run_out_ |= device.memory_bytes > 0 && device.memory_bytes < most;
  const auto num_tasks = At(tasks.num_tasks());
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
    waits_.push_back(static_cast<int>(task.after.size()));
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
  tail_.assign(num_tasks, 0);
  for (int id = tasks.num_tasks() - 1; id >= 0; --id) {
    const std::vector<DeviceId>& devices = tasks.group(tasks.task(id).group).devices;
    int64_t fastest = std::numeric_limits<int64_t>::max();
    for (const DeviceId device : devices) fastest = std::min(fastest, tasks.LaunchNs(id, device));
    const int64_t mine = tail_[At(id)] += fastest;
    const auto raise = [&](int before) { tail_[At(before)] = std::max(tail_[At(before)], mine); };
    for (const int before : tasks.task(id).after) raise(before);
    for (const TaskRead& read : tasks.task(id).reads) {
      if (const int producer = tasks.tensor(read.tensor).producer; producer >= 0) raise(producer);
    }
  }
}

PlacementEvaluator::PlacementEvaluator(const PlacementModel& model)
    : m_(model),
      order_(model.tasks_),
      queues_(model.queues_.size()),
      resource_free_(At(model.num_resources_), 0) {
  const size_t tensors = model.tasks_.tensors().size();
  device_.resize(model.group_.size());
  first_copy_.resize(tensors);
  home_.resize(tensors);
  unread_.resize(tensors);
  held_.resize(At(model.devices_));
  room_.resize(At(model.devices_));
  for (size_t q = 0; q < queues_.size(); ++q) queues_[q].servers.resize(At(model.queues_[q].servers));
}

DeviceId PlacementEvaluator::HomeOf(const PlacementModel::Tensor& tensor) const {
  if (tensor.producer >= 0) return tensor.on_host ? m_.host_ : DeviceOf(tensor.producer);
  return tensor.group < 0 ? m_.host_ : state_->device[At(tensor.group)];
}

DeviceId PlacementEvaluator::PlaceOf(const PlacementModel::Use& use) const {
  return use.on_host ? m_.host_ : DeviceOf(use.task);
}

void PlacementEvaluator::AddCopies(int tensor) {
  const PlacementModel::Tensor& moved = m_.tensor(tensor);
  const DeviceId home = home_[At(tensor)];
  const auto copy_to = [&](DeviceId place) {
    int& first = first_copy_[At(tensor)];
    for (int c = first; c >= 0; c = copies_[At(c)].next) {
      if (copies_[At(c)].dst == place) return c;
    }
    copies_.push_back({.tensor = tensor,
                       .src = home,
                       .dst = place,
                       .queue = m_.CopyQueue(home, place),
                       .next = first,
                       .pending = moved.waits,
                       .ns = m_.CopyNs(tensor, home, place)});
    copy_order_.push_back({.number = moved.fetch});
    return first = static_cast<int>(copies_.size()) - 1;
  };
  for (const PlacementModel::Use& use : m_.uses_[tensor]) {
    const DeviceId place = PlaceOf(use);
    if (place == home) {
      pending_[At(use.task)] += moved.producer >= 0;
      ++unread_[At(tensor)];
      continue;
    }
    ++pending_[At(use.task)];
    const int copy = copy_to(place);
    ++copies_[At(copy)].unread;
    CopyOrder& order = copy_order_[At(copy)];
    if (order.first_reader < 0) {
      order = {use.task, use.number, order_.urgency(use.task), -1};
      if (moved.producer >= 0) order.after = order_.rank(moved.producer);
      for (const int before : m_.tasks_.tensor(tensor).copied_after)
        order.after = std::max(order.after, order_.rank(before));
    }
    order.priority = std::max(order.priority, order_.urgency(use.task));
  }
  if (moved.fetch >= 0 && home != m_.host_) copy_to(m_.host_);
  for (int c = first_copy_[At(tensor)]; c >= 0; c = copies_[At(c)].next) ++unread_[At(tensor)];
}

void PlacementEvaluator::Reset() {
  pending_ = m_.waits_;
  std::fill(unread_.begin(), unread_.end(), 0);
  copies_.clear();
  copy_order_.clear();
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
    queue.idle = m_.queues_[q].servers;
    queue.touched = false;
    const auto phase = m_.queues_[q].wake > 0 ? Server::Phase::kAsleep : Server::Phase::kIdle;
    for (Server& server : queue.servers) server = {.phase = phase, .issued = -m_.gaps_.step_start_ns};
  }
}

// False: a device would have to hold more than it may.
bool PlacementEvaluator::HoldState(double memory_share) {
  std::fill(held_.begin(), held_.end(), 0);
  for (const DeviceId d : room_.ids()) {
    const int64_t limit = m_.tasks_.machine().device(d).memory_bytes;
    room_[d] = limit > 0 ? static_cast<int64_t>(memory_share * static_cast<double>(limit))
                         : std::numeric_limits<int64_t>::max();
  }
  for (size_t g = 0; g < state_->device.size(); ++g) {
    if (!Hold(state_->device[g], m_.tasks_.groups()[g].persistent_bytes)) return false;
  }
  return true;
}

bool PlacementEvaluator::Prepare(const PlacementState& state, double memory_share) {
  state_ = &state;
  for (size_t task = 0; task < device_.size(); ++task) device_[task] = state.device[At(m_.group_[task])];
  order_.Prioritise(state.priority);
  Reset();
  if (m_.memory_can_run_out_ && !HoldState(memory_share)) return false;
  for (size_t t = 0; t < home_.size(); ++t) {
    home_[t] = HomeOf(m_.tensor_[t]);
    first_copy_[t] = -1;
    AddCopies(static_cast<int>(t));
  }
  order_.Merge(copy_order_, &rank_, &items_);
  if (m_.any_handoff_) ready_at_.assign(items_.size(), 0);
  const int num_tasks = m_.tasks_.num_tasks();
  queue_.clear();
  for (const DeviceId device : device_)
    queue_.push_back(device.number());  // launches of device d run on queue d
  for (const Copy& copy : copies_) queue_.push_back(copy.queue);
  for (const int item : items_) {
    const int queue = QueueOf(item);
    if (m_.queues_[At(queue)].in_order) queues_[At(queue)].order.push_back(item);
    const int pending = item < num_tasks ? pending_[At(item)] : copies_[At(item - num_tasks)].pending;
    if (pending == 0) MakeReady(item);
  }
  return true;
}

bool PlacementEvaluator::Hold(DeviceId device, int64_t bytes) {
  if (!m_.memory_can_run_out_) return true;
  held_[device] += bytes;
  out_of_memory_ |= held_[device] > room_[device];
  return !out_of_memory_;
}

void PlacementEvaluator::Expect(int64_t time, int item, int queue, int server) {
  endings_.push_back({time, item, queue, server});
  std::push_heap(endings_.begin(), endings_.end(), std::greater<>());
}

void PlacementEvaluator::Touch(int queue) {
  QueueState& q = queues_[At(queue)];
  if (q.touched) return;
  q.touched = true;
  touched_.push_back(queue);
}

// The idle server that is free first; -1: none is idle.
int PlacementEvaluator::IdleServer(const QueueState& queue) {
  if (queue.servers.size() == 1) return queue.servers[0].phase == Server::Phase::kIdle ? 0 : -1;
  int idle = -1;
  for (size_t l = 0; l < queue.servers.size(); ++l) {
    const Server& server = queue.servers[l];
    if (server.phase == Server::Phase::kIdle &&
        (idle < 0 || server.free_at < queue.servers[At(idle)].free_at))
      idle = static_cast<int>(l);
  }
  return idle;
}

void PlacementEvaluator::MakeReady(int item) {
  const int queue = QueueOf(item);
  QueueState& q = queues_[At(queue)];
  q.ready.push_back(static_cast<uint64_t>(static_cast<uint32_t>(rank_[At(item)])) << 32 |
                    static_cast<uint32_t>(item));
  if (q.ready.size() > 1) std::push_heap(q.ready.begin(), q.ready.end(), std::greater<>());
  if (q.touched) return;
  if (IdleServer(q) >= 0) return Touch(queue);
  for (size_t l = 0; l < q.servers.size(); ++l) {
    if (q.servers[l].phase != Server::Phase::kAsleep) continue;
    q.servers[l].phase = Server::Phase::kWaking;
    return Expect(now_ + m_.queues_[At(queue)].wake, -1, queue, static_cast<int>(l));
  }
}

// Copies that pass one link go one after the other.
int64_t PlacementEvaluator::StartOfCopy(const Copy& copy, int64_t start) {
  const PlacementModel::Route& route = m_.routes_[m_.Pair(copy.src, copy.dst)];
  const auto bytes = static_cast<double>(m_.tensor(copy.tensor).bytes);
  const auto passed = std::span(m_.passed_).subspan(At(route.first), At(route.count));
  for (const PlacementModel::Passed& link : passed)
    start = std::max(start, resource_free_[At(link.resource)]);
  for (const PlacementModel::Passed& link : passed)
    resource_free_[At(link.resource)] = start + static_cast<int64_t>(link.ns_per_byte * bytes);
  return start;
}

bool PlacementEvaluator::HoldOutputs(int task) {
  if (!m_.memory_can_run_out_) return true;
  for (const int tensor : m_.outputs_[task]) {
    if (unread_[At(tensor)] > 0 && !Hold(home_[At(tensor)], m_.tensor(tensor).bytes)) return false;
  }
  return true;
}

// Starts what may start; false: the step is sure to take longer than the limit, or memory is out.
bool PlacementEvaluator::Dispatch(int queue, int64_t limit) {
  QueueState& q = queues_[At(queue)];
  const PlacementModel::QueueSpec& queue_spec = m_.queues_[At(queue)];
  const int num_tasks = m_.tasks_.num_tasks();
  q.touched = false;
  while (!q.ready.empty()) {
    const int item = static_cast<int>(q.ready.front() & 0xFFFFFFFFu);
    if (queue_spec.in_order && q.order[q.next] != item) return true;
    const bool launch = item < num_tasks;
    const int needs = NeedsOf(item, queue);
    const int idle = IdleServer(q);
    if (needs > q.idle || idle < 0) return true;
    if (q.ready.size() > 1) std::pop_heap(q.ready.begin(), q.ready.end(), std::greater<>());
    q.ready.pop_back();
    ++q.next;
    q.idle -= needs;
    Server& server = q.servers[At(idle)];
    server.phase = Server::Phase::kBusy;
    int64_t start = std::max(now_, server.free_at);
    if (queue_spec.issue > 0) start = std::max(start, server.issued += queue_spec.issue);
    if (launch) {
      if (start + m_.tail_[At(item)] > limit || !HoldOutputs(item)) return false;
      Expect(start + m_.LaunchNs(item, DeviceId(queue)), item, queue, idle);
    } else {
      const Copy& copy = copies_[At(item - num_tasks)];
      const int64_t end = StartOfCopy(copy, start) + copy.ns;
      if (end > limit || !Hold(copy.dst, m_.tensor(copy.tensor).bytes)) return false;
      Expect(end, item, queue, idle);
    }
  }
  return true;
}

int PlacementEvaluator::NeedsOf(int item, int queue) const {
  const int servers = m_.queues_[At(queue)].servers;
  return servers == 1 ? 1 : std::min(servers, m_.tasks_.Workers(item, DeviceId(queue)));
}

// Something that `item` waited for has ended on a queue; `last`: it waits for nothing more.
void PlacementEvaluator::Arrived(int item, int from_queue, bool last) {
  if (!m_.any_handoff_) {
    if (last) MakeReady(item);
    return;
  }
  const int queue = QueueOf(item);
  int64_t at = now_;
  if (queue != from_queue)
    at += m_.gaps_.handoff(m_.queues_[At(from_queue)].kind, m_.queues_[At(queue)].kind);
  int64_t& ready_at = ready_at_[At(item)];
  ready_at = std::max(ready_at, at);
  if (!last) return;
  ready_at <= now_ ? MakeReady(item) : Expect(ready_at, item, -1, 0);
}

// Bytes of a tensor, or of a copy of it, that nobody reads any more.
void PlacementEvaluator::Release(int tensor, DeviceId place) {
  if (place == home_[At(tensor)]) {
    if (--unread_[At(tensor)] == 0 && m_.tensor(tensor).producer >= 0)
      held_[place] -= m_.tensor(tensor).bytes;
    return;
  }
  for (int c = first_copy_[At(tensor)]; c >= 0; c = copies_[At(c)].next) {
    if (copies_[At(c)].dst != place) continue;
    if (--copies_[At(c)].unread == 0) held_[place] -= m_.tensor(tensor).bytes;
    return;
  }
}

void PlacementEvaluator::ArrivedAtTask(int task, int from_queue) {
  Arrived(task, from_queue, --pending_[At(task)] == 0);
}

void PlacementEvaluator::ArrivedAtCopies(int tensor, int from_queue) {
  for (int c = first_copy_[At(tensor)]; c >= 0; c = copies_[At(c)].next)
    Arrived(m_.tasks_.num_tasks() + c, from_queue, --copies_[At(c)].pending == 0);
}

void PlacementEvaluator::FinishLaunch(int task, int queue) {
  for (const int tensor : m_.outputs_[task]) {
    ArrivedAtCopies(tensor, queue);
    for (const PlacementModel::Use& use : m_.uses_[tensor]) {
      if (PlaceOf(use) == home_[At(tensor)]) ArrivedAtTask(use.task, queue);
    }
  }
  for (const int tensor : m_.handed_on_[task]) ArrivedAtCopies(tensor, queue);
  for (const int next : m_.after_[task]) ArrivedAtTask(next, queue);
  if (!m_.memory_can_run_out_) return;
  for (const TaskRead& read : m_.tasks_.task(task).reads)
    Release(read.tensor, m_.tasks_.PlaceOf(read, DeviceOf(task)));
}

void PlacementEvaluator::FinishCopy(int number, int queue) {
  const Copy& copy = copies_[At(number)];
  for (const PlacementModel::Use& use : m_.uses_[copy.tensor]) {
    if (PlaceOf(use) == copy.dst) ArrivedAtTask(use.task, queue);
  }
  if (!m_.memory_can_run_out_) return;
  if (copy.unread == 0) held_[copy.dst] -= m_.tensor(copy.tensor).bytes;
  Release(copy.tensor, home_[At(copy.tensor)]);
}

void PlacementEvaluator::Finish(const Ending& ending) {
  if (ending.queue < 0) return MakeReady(ending.item);
  QueueState& q = queues_[At(ending.queue)];
  Server& server = q.servers[At(ending.server)];
  server.phase = Server::Phase::kIdle;
  if (!q.ready.empty()) Touch(ending.queue);
  if (ending.item < 0) return;
  ++ended_;
  last_end_ = now_;
  server.free_at = now_ + m_.queues_[At(ending.queue)].gap;
  q.idle += NeedsOf(ending.item, ending.queue);
  const int num_tasks = m_.tasks_.num_tasks();
  if (ending.item < num_tasks) return FinishLaunch(ending.item, ending.queue);
  FinishCopy(ending.item - num_tasks, ending.queue);
}

int64_t PlacementEvaluator::Evaluate(const PlacementState& state, int64_t limit_ns, double memory_share) {
  const int64_t around = m_.gaps_.step_start_ns + m_.gaps_.step_finish_ns;
  const int64_t limit = limit_ns - around;
  if (!Prepare(state, memory_share)) return kTooLong;
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
      Finish(ending);
    }
  }
  LANESCOPE_CHECK(ended_ == items_.size());
  const int64_t step = last_end_ + around;
  return step > limit_ns ? kTooLong : step;
}

}  // namespace lanescope::sims
