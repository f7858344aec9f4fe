#include "sims/placement_evaluator.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>

#include "core/base/error.h"

namespace lanescope::sims {

PlacementEvaluator::PlacementEvaluator(const PlacementModel& model)
    : m_(model),
      order_(model.tasks_),
      queues_(model.queues_.size()),
      resource_free_(IndexOf(model.num_resources_), 0) {
  const size_t tensors = model.tasks_.tensors().size();
  device_.resize(model.group_.size());
  first_copy_.resize(tensors);
  home_.resize(tensors);
  unread_.resize(tensors);
  held_.resize(IndexOf(model.devices_));
  room_.resize(IndexOf(model.devices_));
  for (size_t q = 0; q < queues_.size(); ++q) queues_[q].servers.resize(IndexOf(model.queues_[q].servers));
}

DeviceId PlacementEvaluator::HomeOf(const PlacementModel::Tensor& tensor) const {
  if (tensor.producer >= 0) return tensor.on_host ? m_.host_ : DeviceOf(tensor.producer);
  return tensor.group < 0 ? m_.host_ : state_->device[IndexOf(tensor.group)];
}

DeviceId PlacementEvaluator::PlaceOf(const PlacementModel::Use& use) const {
  return use.on_host ? m_.host_ : DeviceOf(use.task);
}

void PlacementEvaluator::AddCopies(int tensor) {
  const PlacementModel::Tensor& moved = m_.tensor(tensor);
  const DeviceId home = home_[IndexOf(tensor)];
  const auto copy_to = [&](DeviceId place) {
    int& first = first_copy_[IndexOf(tensor)];
    for (int c = first; c >= 0; c = copies_[IndexOf(c)].next) {
      if (copies_[IndexOf(c)].dst == place) return c;
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
      pending_[IndexOf(use.task)] += moved.producer >= 0;
      ++unread_[IndexOf(tensor)];
      continue;
    }
    ++pending_[IndexOf(use.task)];
    const int copy = copy_to(place);
    ++copies_[IndexOf(copy)].unread;
    CopyOrder& order = copy_order_[IndexOf(copy)];
    if (order.first_reader < 0) {
      order = {use.task, use.number, order_.urgency(use.task), -1};
      if (moved.producer >= 0) order.after = order_.rank(moved.producer);
      for (const int before : m_.tasks_.tensor(tensor).copied_after)
        order.after = std::max(order.after, order_.rank(before));
    }
    order.priority = std::max(order.priority, order_.urgency(use.task));
  }
  if (moved.fetch >= 0 && home != m_.host_) copy_to(m_.host_);
  for (int c = first_copy_[IndexOf(tensor)]; c >= 0; c = copies_[IndexOf(c)].next) ++unread_[IndexOf(tensor)];
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
  for (size_t task = 0; task < device_.size(); ++task) device_[task] = state.device[IndexOf(m_.group_[task])];
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
    if (m_.queues_[IndexOf(queue)].in_order) queues_[IndexOf(queue)].order.push_back(item);
    const int pending =
        item < num_tasks ? pending_[IndexOf(item)] : copies_[IndexOf(item - num_tasks)].pending;
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
  QueueState& q = queues_[IndexOf(queue)];
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
        (idle < 0 || server.free_at < queue.servers[IndexOf(idle)].free_at))
      idle = static_cast<int>(l);
  }
  return idle;
}

void PlacementEvaluator::MakeReady(int item) {
  const int queue = QueueOf(item);
  QueueState& q = queues_[IndexOf(queue)];
  q.ready.push_back(static_cast<uint64_t>(static_cast<uint32_t>(rank_[IndexOf(item)])) << 32 |
                    static_cast<uint32_t>(item));
  if (q.ready.size() > 1) std::push_heap(q.ready.begin(), q.ready.end(), std::greater<>());
  if (q.touched) return;
  if (IdleServer(q) >= 0) return Touch(queue);
  for (size_t l = 0; l < q.servers.size(); ++l) {
    if (q.servers[l].phase != Server::Phase::kAsleep) continue;
    q.servers[l].phase = Server::Phase::kWaking;
    return Expect(now_ + m_.queues_[IndexOf(queue)].wake, -1, queue, static_cast<int>(l));
  }
}

// Copies that pass one link go one after the other.
int64_t PlacementEvaluator::StartOfCopy(const Copy& copy, int64_t start) {
  const PlacementModel::Route& route = m_.routes_[m_.Pair(copy.src, copy.dst)];
  const auto bytes = static_cast<double>(m_.tensor(copy.tensor).bytes);
  const auto passed = std::span(m_.passed_).subspan(IndexOf(route.first), IndexOf(route.count));
  for (const PlacementModel::Passed& link : passed)
    start = std::max(start, resource_free_[IndexOf(link.resource)]);
  for (const PlacementModel::Passed& link : passed)
    resource_free_[IndexOf(link.resource)] = start + static_cast<int64_t>(link.ns_per_byte * bytes);
  return start;
}

bool PlacementEvaluator::HoldOutputs(int task) {
  if (!m_.memory_can_run_out_) return true;
  for (const int tensor : m_.outputs_[task]) {
    if (unread_[IndexOf(tensor)] > 0 && !Hold(home_[IndexOf(tensor)], m_.tensor(tensor).bytes)) return false;
  }
  return true;
}

// Starts what may start; false: the step is sure to take longer than the limit, or memory is out.
bool PlacementEvaluator::Dispatch(int queue, int64_t limit) {
  QueueState& q = queues_[IndexOf(queue)];
  const PlacementModel::QueueSpec& queue_spec = m_.queues_[IndexOf(queue)];
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
    Server& server = q.servers[IndexOf(idle)];
    server.phase = Server::Phase::kBusy;
    int64_t start = std::max(now_, server.free_at);
    if (queue_spec.issue > 0) start = std::max(start, server.issued += queue_spec.issue);
    if (launch) {
      if (start + m_.tail_[IndexOf(item)] > limit || !HoldOutputs(item)) return false;
      Expect(start + m_.LaunchNs(item, DeviceId(queue)), item, queue, idle);
    } else {
      const Copy& copy = copies_[IndexOf(item - num_tasks)];
      const int64_t end = StartOfCopy(copy, start) + copy.ns;
      if (end > limit || !Hold(copy.dst, m_.tensor(copy.tensor).bytes)) return false;
      Expect(end, item, queue, idle);
    }
  }
  return true;
}

int PlacementEvaluator::NeedsOf(int item, int queue) const {
  const int servers = m_.queues_[IndexOf(queue)].servers;
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
    at += m_.gaps_.handoff(m_.queues_[IndexOf(from_queue)].kind, m_.queues_[IndexOf(queue)].kind);
  int64_t& ready_at = ready_at_[IndexOf(item)];
  ready_at = std::max(ready_at, at);
  if (!last) return;
  ready_at <= now_ ? MakeReady(item) : Expect(ready_at, item, -1, 0);
}

// Bytes of a tensor, or of a copy of it, that nobody reads any more.
void PlacementEvaluator::Release(int tensor, DeviceId place) {
  if (place == home_[IndexOf(tensor)]) {
    if (--unread_[IndexOf(tensor)] == 0 && m_.tensor(tensor).producer >= 0)
      held_[place] -= m_.tensor(tensor).bytes;
    return;
  }
  for (int c = first_copy_[IndexOf(tensor)]; c >= 0; c = copies_[IndexOf(c)].next) {
    if (copies_[IndexOf(c)].dst != place) continue;
    if (--copies_[IndexOf(c)].unread == 0) held_[place] -= m_.tensor(tensor).bytes;
    return;
  }
}

void PlacementEvaluator::ArrivedAtTask(int task, int from_queue) {
  Arrived(task, from_queue, --pending_[IndexOf(task)] == 0);
}

void PlacementEvaluator::ArrivedAtCopies(int tensor, int from_queue) {
  for (int c = first_copy_[IndexOf(tensor)]; c >= 0; c = copies_[IndexOf(c)].next)
    Arrived(m_.tasks_.num_tasks() + c, from_queue, --copies_[IndexOf(c)].pending == 0);
}

void PlacementEvaluator::FinishLaunch(int task, int queue) {
  for (const int tensor : m_.outputs_[task]) {
    ArrivedAtCopies(tensor, queue);
    for (const PlacementModel::Use& use : m_.uses_[tensor]) {
      if (PlaceOf(use) == home_[IndexOf(tensor)]) ArrivedAtTask(use.task, queue);
    }
  }
  for (const int tensor : m_.handed_on_[task]) ArrivedAtCopies(tensor, queue);
  for (const int next : m_.after_[task]) ArrivedAtTask(next, queue);
  if (!m_.memory_can_run_out_) return;
  for (const TaskRead& read : m_.tasks_.task(task).reads)
    Release(read.tensor, m_.tasks_.PlaceOf(read, DeviceOf(task)));
}

void PlacementEvaluator::FinishCopy(int number, int queue) {
  const Copy& copy = copies_[IndexOf(number)];
  for (const PlacementModel::Use& use : m_.uses_[copy.tensor]) {
    if (PlaceOf(use) == copy.dst) ArrivedAtTask(use.task, queue);
  }
  if (!m_.memory_can_run_out_) return;
  if (copy.unread == 0) held_[copy.dst] -= m_.tensor(copy.tensor).bytes;
  Release(copy.tensor, home_[IndexOf(copy.tensor)]);
}

void PlacementEvaluator::Finish(const Ending& ending) {
  if (ending.queue < 0) return MakeReady(ending.item);
  QueueState& q = queues_[IndexOf(ending.queue)];
  Server& server = q.servers[IndexOf(ending.server)];
  server.phase = Server::Phase::kIdle;
  if (!q.ready.empty()) Touch(ending.queue);
  if (ending.item < 0) return;
  ++ended_;
  last_end_ = now_;
  server.free_at = now_ + m_.queues_[IndexOf(ending.queue)].gap;
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
