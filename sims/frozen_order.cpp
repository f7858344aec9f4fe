#include "sims/frozen_order.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

// Commands behind one that are looked at to prove it the first; more are hardly ever ready at once.
constexpr size_t kMostLookedAt = 64;

}  // namespace

FrozenOrder::FrozenOrder(const SimulationPlan& plan, const IdVector<CommandId, CommandTime>& times)
    : plan_(plan), times_(plan.tasks.size()), at_(plan.servers_of.size()) {
  OrderSteps(times);
  ListQueues();
  ListLinks(times);
}

bool FrozenOrder::Applies(const SimulationPlan& plan) {
  const auto one_server = [](const ServerRange& range) { return range.end - range.first == 1; };
  const auto awake = [](const Server& server) { return server.wake == 0; };
  return plan.domains.empty() && std::all_of(plan.servers_of.begin(), plan.servers_of.end(), one_server) &&
         std::all_of(plan.servers.begin(), plan.servers.end(), awake);
}

// So that everything comes after what it waits for, the command before it in its queue included.
void FrozenOrder::OrderSteps(const IdVector<CommandId, CommandTime>& times) {
  const size_t total = plan_.tasks.size();
  IdVector<CommandId, int> waits(total, 0), place(total, -1);
  IdVector<CommandId, CommandId> next(total);
  std::vector<CommandId> order;
  order.reserve(total);
  for (const CommandId c : plan_.tasks.ids()) {
    const CommandId previous = times[c].previous;
    waits[c] = plan_.tasks[c].pending + previous.exists();
    if (previous.exists()) next[previous] = c;
    if (waits[c] == 0) order.push_back(c);
  }
  IdVector<CommandId, std::vector<Before>> before(total);
  const auto kind_of = [&](QueueId q) {
    return static_cast<size_t>(plan_.servers[IndexOf(plan_.servers_of[q].first)].kind);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const CommandId c = order[i];
    place[c] = static_cast<int>(i);
    const Task& task = plan_.tasks[c];
    for (int s = task.first_successor; s < task.end_successor; ++s) {
      const CommandId successor = plan_.successors[s];
      const QueueId to = plan_.tasks[successor].queue;
      const Ticks delay = to != task.queue ? plan_.handoff[kind_of(task.queue)][kind_of(to)] : 0;
      before[successor].push_back({place[c], delay});
      if (--waits[successor] == 0) order.push_back(successor);
    }
    if (next[c].exists() && --waits[next[c]] == 0) order.push_back(next[c]);
  }
  LANESCOPE_CHECK(order.size() == total);
  for (const CommandId c : order) {
    before_.insert(before_.end(), before[c].begin(), before[c].end());
    steps_.push_back({.command = c,
                      .queue = plan_.tasks[c].queue,
                      .end_before = static_cast<int>(before_.size()),
                      .route = plan_.route_of.empty() ? -1 : plan_.route_of[c],
                      .sync = !plan_.sync.empty() && plan_.sync[c] != 0});
  }
}

void FrozenOrder::ListQueues() {
  IdVector<QueueId, std::vector<int>> places(plan_.servers_of.size());
  for (size_t i = 0; i < steps_.size(); ++i) places[steps_[i].queue].push_back(static_cast<int>(i));
  for (const QueueId q : places.ids()) {
    if (!plan_.in_order[q] && places[q].size() > 1) queues_.push_back(std::move(places[q]));
  }
}

void FrozenOrder::ListLinks(const IdVector<CommandId, CommandTime>& times) {
  links_.resize(plan_.capacities.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].route < 0) continue;
    const LinkPath& route = plan_.routes[IndexOf(steps_[i].route)];
    for (int r = route.first; r < route.first + route.count; ++r)
      links_[IndexOf(plan_.route_resources[IndexOf(r)])].push_back(static_cast<int>(i));
  }
  const auto earlier = [&](int a, int b) {
    return times[steps_[IndexOf(a)].command].start_ns < times[steps_[IndexOf(b)].command].start_ns;
  };
  for (std::vector<int>& places : links_) std::stable_sort(places.begin(), places.end(), earlier);
}

// When everything runs; false: longer than virtual time lasts.
bool FrozenOrder::Pass(const CommandCosts& costs) {
  for (QueueTimes& queue : at_) queue = {.end = plan_.step_start, .free_at = 0, .issued = 0};
  any_zero_ = false;
  int next = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    Times& times = times_[i];
    times.ready = plan_.step_start;
    for (; next < step.end_before; ++next) {
      const Before& before = before_[IndexOf(next)];
      times.ready = std::max(times.ready, times_[IndexOf(before.place)].end + before.delay);
    }
    QueueTimes& queue = at_[step.queue];
    const Server& server = plan_.servers[IndexOf(plan_.servers_of[step.queue].first)];
    times.picked = std::max(times.ready, queue.end);
    Ticks start = times.picked;
    if (!step.sync) {
      start = std::max(start, queue.free_at);
      if (server.issue > 0) start = std::max(start, queue.issued += server.issue);
    }
    const Ticks duration = TicksOf(costs.ns[step.command]);
    times.end = start + duration;
    times.flows = false;
    if (step.route >= 0) {
      const LinkPath& route = plan_.routes[IndexOf(step.route)];
      const int64_t bytes = plan_.bytes[step.command];
      times.flows = duration > route.latency && bytes > 0;
      times.moves = start + route.latency;
      if (times.flows) {
        const Flow flow = FlowAlone(route, bytes, duration);
        times.end =
            times.moves + static_cast<Ticks>(flow.bytes / std::min(flow.limit, route.bandwidth) + 0.5);
      }
    }
    any_zero_ |= times.end == start;
    queue.end = times.end;
    if (!step.sync) queue.free_at = times.end + server.gap;
    if (times.end > kMaxTicks) return false;
  }
  return true;
}

// Whether the command at one place of a queue's order was the least of those that were ready. Nothing behind
// it that is ready may have a smaller position.
bool FrozenOrder::IsFirst(const std::vector<int>& places, size_t at) const {
  const Times& times = times_[IndexOf(places[at])];
  const int position = PositionOf(places[at]);
  const size_t end = std::min(places.size(), at + 1 + kMostLookedAt);
  for (size_t i = at + 1; i < end; ++i) {
    if (times_[IndexOf(places[i])].ready <= times.picked && PositionOf(places[i]) < position) return false;
  }
  return end == places.size();
}

bool FrozenOrder::KeepsOrder(const std::vector<int>& places) const {
  Ticks soonest = kNever;  // that one behind becomes ready
  int least = std::numeric_limits<int>::max();
  for (size_t i = places.size(); i-- > 0;) {
    const int place = places[i];
    const Times& times = times_[IndexOf(place)];
    if (soonest <= times.picked) {
      const Ticks before = i > 0 ? times_[IndexOf(places[i - 1])].end : plan_.step_start;
      const bool idle = times.ready > before;
      if (idle && soonest < times.ready) return false;  // that one would not have waited
      const bool root = place == 0
                            ? steps_[0].end_before == 0
                            : steps_[IndexOf(place)].end_before == steps_[IndexOf(place) - 1].end_before;
      // In one instant it may come a round after the queue picked.
      if (any_zero_ && times.ready >= before && !root) return false;
      if (PositionOf(place) > least && !IsFirst(places, i)) return false;
    }
    soonest = std::min(soonest, times.ready);
    least = std::min(least, PositionOf(place));
  }
  return true;
}

bool FrozenOrder::SharesLink(const std::vector<int>& places) const {
  Ticks busy_until = 0;
  for (const int place : places) {
    const Times& times = times_[IndexOf(place)];
    if (!times.flows) continue;
    if (times.moves < busy_until) return true;
    busy_until = times.end;
  }
  return false;
}

std::optional<Ticks> FrozenOrder::LastEnd(const CommandCosts& costs) {
  if (!Pass(costs)) return std::nullopt;
  for (const std::vector<int>& places : links_) {
    if (SharesLink(places)) return std::nullopt;
  }
  for (const std::vector<int>& places : queues_) {
    if (!KeepsOrder(places)) return std::nullopt;
  }
  Ticks last = plan_.step_start;
  for (const Times& times : times_) last = std::max(last, times.end);
  return last;
}

}  // namespace lanescope::sims
