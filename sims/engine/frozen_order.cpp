// SPDX-License-Identifier: Apache-2.0
#include "sims/engine/frozen_order.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace lanescope::sims {
namespace {

// Commands behind one that are looked at to prove it the first; more are hardly ever ready at once.
constexpr size_t kMostLookedAt = 64;

}  // namespace

FrozenOrder::FrozenOrder(const SimulationPlan& plan, const IdVector<CommandId, Command>& commands,
                         const IdVector<CommandId, CommandTime>& times)
    : plan_(plan),
      times_(plan.tasks.size()),
      servers_(plan.servers.size()),
      last_pick_(plan.servers_of.size(), 0) {
  OrderSteps(commands, times);
  ListQueues();
  ListLinks(times);
}

bool FrozenOrder::Applies(const SimulationPlan& plan) {
  const auto awake = [](const Server& server) { return server.wake == 0; };
  return plan.domains.empty() && plan.message_ends.empty() &&
         std::all_of(plan.servers.begin(), plan.servers.end(), awake);
}

// As the queues picked in the run, or nearly: the check after a pass decides.
IdVector<QueueId, std::vector<CommandId>> FrozenOrder::QueueOrders(
    const IdVector<CommandId, CommandTime>& times) const {
  IdVector<QueueId, std::vector<CommandId>> orders = plan_.orders;
  const auto began_before = [&](CommandId a, CommandId b) {
    const CommandTime &x = times[a], &y = times[b];
    return x.start_ns != y.start_ns ? x.start_ns < y.start_ns : x.end_ns < y.end_ns;
  };
  for (const QueueId q : orders.ids()) {
    if (!plan_.in_order[q]) std::stable_sort(orders[q].begin(), orders[q].end(), began_before);
  }
  return orders;
}

// So that everything comes after what it waits for, the command before it in its queue included.
void FrozenOrder::OrderSteps(const IdVector<CommandId, Command>& commands,
                             const IdVector<CommandId, CommandTime>& times) {
  const size_t total = plan_.tasks.size();
  IdVector<CommandId, int> waits(total, 0);
  IdVector<CommandId, CommandId> next(total);
  for (const CommandId c : plan_.tasks.ids()) waits[c] = plan_.tasks[c].pending;
  for (const std::vector<CommandId>& queue : QueueOrders(times)) {
    for (size_t i = 1; i < queue.size(); ++i) {
      next[queue[i - 1]] = queue[i];
      ++waits[queue[i]];
    }
  }
  std::vector<CommandId> order;
  order.reserve(total);
  for (const CommandId c : plan_.tasks.ids()) {
    if (waits[c] == 0) order.push_back(c);
  }
  IdVector<CommandId, std::vector<Before>> before(total);
  const auto kind_of = [&](QueueId q) {
    return static_cast<size_t>(plan_.servers[IndexOf(plan_.servers_of[q].first)].kind);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const CommandId c = order[i];
    const Task& task = plan_.tasks[c];
    for (int s = task.first_successor; s < task.end_successor; ++s) {
      const CommandId successor = plan_.successors[s];
      const QueueId to = plan_.tasks[successor].queue;
      const bool signals = !plan_.signals.empty() && plan_.signals[IndexOf(s)] != 0;
      const Ticks delay = signals            ? plan_.signal
                          : to != task.queue ? plan_.handoff[kind_of(task.queue)][kind_of(to)]
                                             : 0;
      before[successor].push_back({static_cast<int>(i), delay});
      if (--waits[successor] == 0) order.push_back(successor);
    }
    if (next[c].exists() && --waits[next[c]] == 0) order.push_back(next[c]);
  }
  // Commands that took no time may stand in another order than they ran: then nothing is sure.
  if (order.size() < total) order.clear();
  for (const CommandId c : order) {
    const ServerRange range = plan_.servers_of[plan_.tasks[c].queue];
    before_.insert(before_.end(), before[c].begin(), before[c].end());
    steps_.push_back({.command = c,
                      .queue = plan_.tasks[c].queue,
                      .end_before = static_cast<int>(before_.size()),
                      .path = plan_.path_of.empty() ? LinkPaths::kNone : plan_.path_of[c],
                      .workers = std::min(range.end - range.first, commands[c].workers),
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
  links_.resize(plan_.links.capacities().size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].path == LinkPaths::kNone) continue;
    for (const int resource : plan_.links.resources(plan_.links.path(steps_[i].path)))
      links_[IndexOf(resource)].push_back(static_cast<int>(i));
  }
  const auto earlier = [&](int a, int b) {
    return times[steps_[IndexOf(a)].command].start_ns < times[steps_[IndexOf(b)].command].start_ns;
  };
  for (std::vector<int>& places : links_) std::stable_sort(places.begin(), places.end(), earlier);
}

// When the command's queue picks it, and the server that runs it.
size_t FrozenOrder::Pick(const Step& step, Times* times) {
  const ServerRange range = plan_.servers_of[step.queue];
  if (range.end - range.first == 1) {
    times->before = servers_[IndexOf(range.first)].end;
    times->picked = std::max(times->ready, times->before);
    return IndexOf(range.first);
  }
  times->before = last_pick_[step.queue];
  Ticks at = std::max(times->ready, times->before);
  while (true) {
    int chosen = -1, idle = range.end - range.first;
    Ticks next_end = kNever;
    for (int s = range.first; s < range.end; ++s) {
      const ServerTimes& server = servers_[IndexOf(s)];
      if (server.end > at) {
        idle -= server.workers;
        next_end = std::min(next_end, server.end);
        continue;
      }
      if (server.start == at) sure_ = false;  // took no time: it ends a round later than others begin
      if (chosen < 0 || server.free_at < servers_[IndexOf(chosen)].free_at) chosen = s;
    }
    if (chosen >= 0 && step.workers <= idle) {
      times->picked = last_pick_[step.queue] = at;
      return IndexOf(chosen);
    }
    at = next_end;
  }
}

// When everything runs; false: longer than virtual time lasts, or it is not sure.
bool FrozenOrder::Pass(const CommandCosts& costs) {
  for (ServerTimes& server : servers_) server = {.end = plan_.step_start};
  for (Ticks& pick : last_pick_) pick = plan_.step_start;
  any_zero_ = false;
  sure_ = true;
  int next = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    Times& times = times_[i];
    times.ready = plan_.step_start;
    for (; next < step.end_before; ++next) {
      const Before& before = before_[IndexOf(next)];
      times.ready = std::max(times.ready, times_[IndexOf(before.place)].end + before.delay);
    }
    const size_t number = Pick(step, &times);
    const Server& plan = plan_.servers[number];
    ServerTimes& server = servers_[number];
    Ticks start = times.picked;
    if (!step.sync) {
      start = std::max(start, server.free_at);
    }
    const Ticks duration = TicksOf(costs.ns[step.command]);
    times.end = start + duration;
    times.flows = false;
    if (step.path != LinkPaths::kNone) {
      const LinkPath& path = plan_.links.path(step.path);
      const int64_t bytes = plan_.bytes[step.command];
      times.flows = Flows(path, bytes, duration);
      times.moves = start + path.latency;
      if (times.flows) {
        const CopyFlow flow = FlowAlone(path, bytes, duration);
        times.end = times.moves + static_cast<Ticks>(flow.bytes / std::min(flow.limit, path.bandwidth) + 0.5);
      }
    }
    any_zero_ |= times.end == times.picked;
    server.start = times.picked;
    server.end = times.end;
    server.workers = step.workers;
    if (!step.sync) server.free_at = times.end + plan.gap;
    if (times.end > kMaxTicks || !sure_) return false;
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
      // A command that was ready before would not have waited for this one.
      if (times.ready > times.before && soonest < times.ready) return false;
      const bool root = place == 0
                            ? steps_[0].end_before == 0
                            : steps_[IndexOf(place)].end_before == steps_[IndexOf(place) - 1].end_before;
      // In one instant it may come a round after the queue picked.
      if (any_zero_ && times.ready >= times.before && !root) return false;
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
  if (steps_.size() < plan_.tasks.size() || !Pass(costs)) return std::nullopt;
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
