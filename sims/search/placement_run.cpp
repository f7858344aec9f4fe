// SPDX-License-Identifier: Apache-2.0
#include "sims/search/placement_run.h"

#include <algorithm>
#include <functional>
#include <span>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

// A moment is kept whenever so many items have ended: few, for keeping one costs as much as a dozen items.
constexpr int kMomentsOfTasks = 8;
constexpr int kLeastSpacing = 8;

}  // namespace

PlacementCheckpoint::PlacementCheckpoint(const PlacementModel& model) : timers(1) {
  size_t servers_of_all = 0;
  for (const auto& queue : model.queues_) servers_of_all += IndexOf(queue.servers);
  const size_t copies = IndexOf(model.first_copy_.back());
  timers = TimerTree(servers_of_all);
  servers.resize(servers_of_all);
  idle.resize(model.queues_.size());
  next.resize(model.queues_.size());
  resource_free.resize(IndexOf(model.num_resources_));
  if (model.any_handoff_) ready_at.resize(model.group_.size() + copies);
  if (!model.memory_can_run_out_) return;
  read.resize(model.tensor_.size() + copies);
  held.resize(IndexOf(model.devices_));
  most_held.resize(IndexOf(model.devices_));
}

PlacementRun::PlacementRun(const PlacementModel& model, const PlacementLayout& layout)
    : m_(model),
      layout_(layout),
      num_tasks_(static_cast<int>(model.group_.size())),
      at_(model),
      no_timers_(at_.timers) {
  const size_t items = model.group_.size() + IndexOf(model.first_copy_.back());
  for (size_t q = 0; q < model.queues_.size(); ++q) {
    first_server_.push_back(static_cast<int>(queue_of_server_.size()));
    queue_of_server_.insert(queue_of_server_.end(), IndexOf(model.queues_[q].servers), static_cast<int>(q));
    ready_.emplace_back(items);
  }
  first_server_.push_back(static_cast<int>(queue_of_server_.size()));
  if (model.memory_can_run_out_) room_.resize(IndexOf(model.devices_));
  spacing_ = std::max(kLeastSpacing, num_tasks_ / kMomentsOfTasks);
}

// Forgets the ready items of a run that was given up.
void PlacementRun::ForgetReady() {
  for (NumberSet& ready : ready_) {
    while (!ready.empty()) ready.RemoveLeast();
  }
  touched_.fill(0);
}

void PlacementRun::Begin() {
  ForgetReady();
  at_.now = at_.last_end = 0;
  at_.ended = 0;
  at_.arrived.assign(layout_.pending().size(), 0);
  at_.timers = no_timers_;
  at_.handoffs.clear();
  std::fill(at_.next.begin(), at_.next.end(), 0);
  std::fill(at_.resource_free.begin(), at_.resource_free.end(), 0);
  std::fill(at_.ready_at.begin(), at_.ready_at.end(), 0);
  std::fill(at_.read.begin(), at_.read.end(), 0);
  std::fill(at_.held.begin(), at_.held.end(), 0);
  std::fill(at_.most_held.begin(), at_.most_held.end(), 0);
  for (size_t q = 0; q < m_.queues_.size(); ++q) at_.idle[q] = m_.queues_[q].servers;
  for (size_t s = 0; s < at_.servers.size(); ++s) {
    const bool sleeps = m_.queues_[IndexOf(queue_of_server_[s])].wake > 0;
    at_.servers[s] = {.phase = sleeps ? Server::Phase::kAsleep : Server::Phase::kIdle};
  }
  for (const int item : layout_.items()) {
    if (layout_.pending()[IndexOf(item)] == 0) MakeReady(item);
  }
}

void PlacementRun::GoOnFrom(const KeptCheckpoint& kept) {
  ForgetReady();
  at_ = kept.moment;
  for (size_t q = 0; q < ready_.size(); ++q) {
    for (const int item : kept.ready[q]) ready_[q].Add(IndexOf(layout_.rank(item)));
  }
}

void PlacementRun::Keep(MomentLog* log) {
  while (log->kept.size() <= IndexOf(log->count)) log->kept.push_back({at_, {}});
  KeptCheckpoint& kept = log->kept[IndexOf(log->count++)];
  kept.moment = at_;
  kept.ready.resize(ready_.size());
  for (size_t q = 0; q < ready_.size(); ++q) {
    kept.ready[q].clear();
    if (ready_[q].empty()) continue;
    for (left_ = ready_[q]; !left_.empty(); left_.RemoveLeast())
      kept.ready[q].push_back(layout_.items()[left_.Least()]);
  }
}

bool PlacementRun::Hold(DeviceId device, int64_t bytes) {
  if (!m_.memory_can_run_out_) return true;
  at_.held[device] += bytes;
  at_.most_held[device] = std::max(at_.most_held[device], at_.held[device]);
  return at_.held[device] <= room_[device];
}

int PlacementRun::IdleServerOfMany(int first, int end) const {
  int idle = -1;
  for (int s = first; s < end; ++s) {
    const Server& server = at_.servers[IndexOf(s)];
    if (server.phase == Server::Phase::kIdle &&
        (idle < 0 || server.free_at < at_.servers[IndexOf(idle)].free_at))
      idle = s;
  }
  return idle;
}

void PlacementRun::MakeReady(int item) {
  const int queue = layout_.queue(item);
  ready_[IndexOf(queue)].Add(IndexOf(layout_.rank(item)));
  if (IdleServer(queue) >= 0) return Touch(queue);
  if (m_.queues_[IndexOf(queue)].wake == 0) return;
  for (int s = first_server_[IndexOf(queue)]; s < first_server_[IndexOf(queue) + 1]; ++s) {
    Server& server = at_.servers[IndexOf(s)];
    if (server.phase != Server::Phase::kAsleep) continue;
    server.phase = Server::Phase::kWaking;
    return at_.timers.Set(s, at_.now + m_.queues_[IndexOf(queue)].wake);
  }
}

// Copies that pass one link go one after the other.
int64_t PlacementRun::StartOfCopy(const PlacementLayout::Copy& copy, int64_t start) {
  const PlacementModel::Route& route = m_.routes_[m_.Pair(copy.src, copy.dst)];
  const auto bytes = static_cast<double>(m_.tensor(copy.tensor).bytes);
  const auto passed = std::span(m_.passed_).subspan(IndexOf(route.first), IndexOf(route.count));
  for (const PlacementModel::Passed& link : passed)
    start = std::max(start, at_.resource_free[IndexOf(link.resource)]);
  for (const PlacementModel::Passed& link : passed)
    at_.resource_free[IndexOf(link.resource)] = start + static_cast<int64_t>(link.ns_per_byte * bytes);
  return start;
}

bool PlacementRun::HoldOutputs(int task) {
  if (!m_.memory_can_run_out_) return true;
  for (const int tensor : m_.outputs_[task]) {
    if (layout_.readers(tensor) > 0 && !Hold(layout_.home(tensor), m_.tensor(tensor).bytes)) return false;
  }
  return true;
}

// Starts what may start; false: the step is sure to take longer than the limit, or memory is out.
bool PlacementRun::Dispatch(int queue, int64_t limit) {
  NumberSet& ready = ready_[IndexOf(queue)];
  const PlacementModel::QueueSpec& queue_spec = m_.queues_[IndexOf(queue)];
  int& next = at_.next[IndexOf(queue)];
  while (!ready.empty()) {
    const int item = layout_.items()[ready.Least()];
    if (queue_spec.in_order && layout_.orders()[IndexOf(queue)][IndexOf(next)] != item) return true;
    const int needs = NeedsOf(item, queue);
    const int idle = IdleServer(queue);
    if (needs > at_.idle[IndexOf(queue)] || idle < 0) return true;
    ready.RemoveLeast();
    ++next;
    at_.idle[IndexOf(queue)] -= needs;
    Server& server = at_.servers[IndexOf(idle)];
    server.phase = Server::Phase::kBusy;
    server.item = item;
    int64_t start = std::max(at_.now, server.free_at);
    if (item < num_tasks_) {
      if (start + m_.tail_[IndexOf(item)] > limit || !HoldOutputs(item)) return false;
    } else {
      const PlacementLayout::Copy& copy = layout_.copy(item - num_tasks_);
      start = StartOfCopy(copy, start);
      if (start + layout_.ns(item) > limit || !Hold(copy.dst, m_.tensor(copy.tensor).bytes)) return false;
    }
    at_.timers.Set(idle, start + layout_.ns(item));
  }
  return true;
}

// Something that `item` waited for has ended on a queue.
void PlacementRun::Arrived(int item, int from_queue) {
  const bool last = ++at_.arrived[IndexOf(item)] == layout_.pending()[IndexOf(item)];
  if (!m_.any_handoff_) {
    if (last) MakeReady(item);
    return;
  }
  const int queue = layout_.queue(item);
  int64_t at = at_.now;
  if (queue != from_queue)
    at += m_.delays_.handoff(m_.queues_[IndexOf(from_queue)].kind, m_.queues_[IndexOf(queue)].kind);
  int64_t& ready_at = at_.ready_at[IndexOf(item)];
  ready_at = std::max(ready_at, at);
  if (!last) return;
  if (ready_at <= at_.now) return MakeReady(item);
  at_.handoffs.push_back({ready_at, item});
  std::push_heap(at_.handoffs.begin(), at_.handoffs.end(), std::greater<>());
}

void PlacementRun::ArrivedAtCopies(int tensor, int from_queue) { ArrivedAtCopiesOf(tensor, -1, from_queue); }

// Takes the arrival at copies that are made of the copy `from`.
void PlacementRun::ArrivedAtCopiesOf(int tensor, int from, int from_queue) {
  for (int c = layout_.first_copy(tensor); c < layout_.end_copy(tensor); ++c) {
    if (layout_.copy(c).from == from) Arrived(num_tasks_ + c, from_queue);
  }
}

// The bytes of a tensor, or of a copy of it, are free when all have read them.
void PlacementRun::ReadAtHome(int tensor) {
  if (++at_.read[IndexOf(tensor)] == layout_.readers(tensor) && m_.tensor(tensor).producer >= 0)
    at_.held[layout_.home(tensor)] -= m_.tensor(tensor).bytes;
}
void PlacementRun::ReadCopy(int number) {
  const PlacementLayout::Copy& copy = layout_.copy(number);
  if (++at_.read[m_.tensor_.size() + IndexOf(number)] == copy.readers)
    at_.held[copy.dst] -= m_.tensor(copy.tensor).bytes;
}

void PlacementRun::FinishLaunch(int task, int queue) {
  log_->at_end[IndexOf(task)] = log_->count;
  for (const int tensor : m_.outputs_[task]) {
    ArrivedAtCopies(tensor, queue);
    for (int use = layout_.first_use(tensor); use >= 0; use = layout_.next_use(use))
      Arrived(m_.uses_.items[IndexOf(use)].task, queue);
  }
  for (const int tensor : m_.handed_on_[task]) ArrivedAtCopies(tensor, queue);
  for (const int next : m_.after_[task]) Arrived(next, queue);
  if (!m_.memory_can_run_out_) return;
  for (const TaskRead& read : m_.tasks_.task(task).reads) {
    const DeviceId place = m_.tasks_.PlaceOf(read, layout_.device(task));
    place == layout_.home(read.tensor) ? ReadAtHome(read.tensor)
                                       : ReadCopy(layout_.CopyTo(read.tensor, place));
  }
}

void PlacementRun::FinishCopy(int number, int queue) {
  const PlacementLayout::Copy& copy = layout_.copy(number);
  for (int use = copy.first_use; use >= 0; use = layout_.next_use(use))
    Arrived(m_.uses_.items[IndexOf(use)].task, queue);
  ArrivedAtCopiesOf(copy.tensor, number, queue);
  if (!m_.memory_can_run_out_) return;
  if (copy.readers == 0) at_.held[copy.dst] -= m_.tensor(copy.tensor).bytes;
  copy.from < 0 ? ReadAtHome(copy.tensor) : ReadCopy(copy.from);
}

void PlacementRun::Expire(int number) {
  at_.timers.Set(number, kNever);
  Server& server = at_.servers[IndexOf(number)];
  const bool woke = server.phase == Server::Phase::kWaking;
  const int queue = queue_of_server_[IndexOf(number)];
  server.phase = Server::Phase::kIdle;
  if (!ready_[IndexOf(queue)].empty()) Touch(queue);
  if (woke) return;
  ++at_.ended;
  at_.last_end = at_.now;
  server.free_at = at_.now + m_.queues_[IndexOf(queue)].gap;
  const int item = server.item;
  at_.idle[IndexOf(queue)] += NeedsOf(item, queue);
  item < num_tasks_ ? FinishLaunch(item, queue) : FinishCopy(item - num_tasks_, queue);
}

// Lets everything happen that is due at the next instant.
void PlacementRun::Advance() {
  const int64_t arrival = at_.handoffs.empty() ? kNever : at_.handoffs.front().time;
  at_.now = std::min(at_.timers.EarliestTime(), arrival);
  LANESCOPE_CHECK(at_.now != kNever);
  while (at_.timers.EarliestTime() == at_.now) Expire(at_.timers.Earliest());
  while (!at_.handoffs.empty() && at_.handoffs.front().time == at_.now) {
    std::pop_heap(at_.handoffs.begin(), at_.handoffs.end(), std::greater<>());
    const int item = at_.handoffs.back().item;
    at_.handoffs.pop_back();
    MakeReady(item);
  }
}

int64_t PlacementRun::ToEnd(int64_t limit, MomentLog* log) {
  log_ = log;
  const auto items = static_cast<int>(layout_.items().size());
  while (true) {
    for (size_t word = 0; word < touched_.size(); ++word) {
      for (uint64_t queues = touched_[word]; queues != 0; queues &= queues - 1) {
        if (!Dispatch(static_cast<int>(64 * word) + std::countr_zero(queues), limit)) return kTooLong;
      }
    }
    touched_.fill(0);
    if (at_.ended == items) return at_.last_end;
    if (at_.ended >= (log->count + 1) * spacing_) Keep(log);
    Advance();
  }
}

}  // namespace lanescope::sims
