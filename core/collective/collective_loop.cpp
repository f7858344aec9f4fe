// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collective_loop.h"

#include "core/time/queue_servers.h"

namespace lanescope {
namespace {

int ServersOf(const Machine& machine, const DeviceQueue& queue) {
  const DeviceSpec& device = machine.device(queue.device);
  return QueueServers(device, queue.kind, QueueWorkers(device, queue.kind));
}

// The number of queues that the steps use.
int CountServers(const Machine& machine, std::span<const CollectiveStep> steps) {
  std::set<DeviceQueue> queues;
  for (const CollectiveStep& step : steps) queues.insert(step.queue);
  int servers = 0;
  for (const DeviceQueue& queue : queues) servers += ServersOf(machine, queue);
  return servers;
}

}  // namespace

CollectiveLoop::CollectiveLoop(const Machine& machine, const LinkPaths& links,
                               std::span<const CollectiveStep> steps)
    : links_(links),
      steps_(steps),
      next_(steps.size()),
      missing_(steps.size()),
      servers_(static_cast<size_t>(CountServers(machine, steps))),
      sharing_(links.capacities(), static_cast<int>(servers_.size()), links.max_hops()),
      timers_(servers_.size()) {
  for (size_t s = 0; s < steps.size(); ++s) {
    missing_[s] = steps[s].after.size();
    for (const size_t before : steps[s].after) next_[before].push_back(s);
    queues_.try_emplace(steps[s].queue);
  }
  int server = 0;
  for (auto& [of, queue] : queues_) {
    queue.free_workers = ServersOf(machine, of);
    for (int i = 0; i < queue.free_workers; ++i) queue.idle.push_back(server++);
  }
}

Ticks CollectiveLoop::Run() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (missing_[s] == 0) MakeReady(s);
  }
  Pick();
  Share();
  while (timers_.EarliestTime() != kNever) {
    now_ = timers_.EarliestTime();
    while (timers_.EarliestTime() == now_) Expire(timers_.Earliest());
    Pick();
    Share();
  }
  return now_;
}

void CollectiveLoop::MakeReady(size_t step) {
  QueueOf(step).ready.insert(step);
  touched_.insert(steps_[step].queue);
}

void CollectiveLoop::Pick() {
  for (const DeviceQueue& of : touched_) {
    Queue& queue = queues_.at(of);
    while (!queue.ready.empty()) {
      const size_t step = *queue.ready.begin();
      if (steps_[step].workers > queue.free_workers) break;
      queue.ready.erase(queue.ready.begin());
      queue.free_workers -= steps_[step].workers;
      const int server = queue.idle.back();
      queue.idle.pop_back();
      Start(server, step);
    }
  }
  touched_.clear();
}

void CollectiveLoop::Start(int number, size_t step) {
  const CollectiveStep& started = steps_[step];
  Server& server = servers_[static_cast<size_t>(number)];
  server = {.step = step};
  Ticks until = now_ + started.alone;
  if (started.path != LinkPaths::kNone) {
    const LinkPath& path = links_.path(started.path);
    server.waits = Flows(path, started.bytes, started.alone);
    if (server.waits) until = now_ + path.latency;
  }
  timers_.Set(number, until);
}

void CollectiveLoop::Expire(int number) {
  timers_.Set(number, kNever);
  Server& server = servers_[static_cast<size_t>(number)];
  if (!server.waits) return End(number);
  const CollectiveStep& message = steps_[server.step];
  const LinkPath& path = links_.path(message.path);
  const CopyFlow flow = FlowAlone(path, message.bytes, message.alone);
  sharing_.Start(number, now_, links_.resources(path), flow.bytes, flow.limit);
  server.waits = false;
  server.flows = true;
}

void CollectiveLoop::End(int number) {
  const Server& server = servers_[static_cast<size_t>(number)];
  if (server.flows) sharing_.End(number);
  const size_t step = server.step;
  Queue& queue = QueueOf(step);
  queue.free_workers += steps_[step].workers;
  queue.idle.push_back(number);
  touched_.insert(steps_[step].queue);
  for (const size_t next : next_[step]) {
    if (--missing_[next] == 0) MakeReady(next);
  }
}

void CollectiveLoop::Share() {
  if (!sharing_.dirty()) return;
  for (const int server : sharing_.Solve(now_)) timers_.Set(server, sharing_.finish(server));
}

}  // namespace lanescope
