// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/ready_pairs.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace lanescope {

ReadyPairs::ReadyPairs(const TaskGraph& tasks, const ListSchedule& schedule, std::span<const int> position)
    : tasks_(tasks),
      schedule_(schedule),
      position_(position),
      kinds_(tasks.machine().devices.size()),
      pairs_(static_cast<size_t>(tasks.num_tasks())) {
  int64_t all = 0;
  for (const TaskTensor& tensor : tasks.tensors()) all += tensor.bytes;
  for (const TaskGroup& group : tasks.groups()) all += group.persistent_bytes;
  // A tensor that a task reads in two ways counts twice.
  for (const DeviceSpec& device : tasks.machine().devices)
    memory_can_run_out_.Add(device.memory_bytes > 0 && device.memory_bytes / 2 < all);
}

void ReadyPairs::Add(int task) {
  const std::vector<DeviceId> devices = schedule_.Candidates(task);
  const bool any_gpu = std::any_of(devices.begin(), devices.end(), [&](DeviceId d) { return IsGpu(d); });
  for (const DeviceId device : devices) {
    ListSchedule::StartTerms terms = schedule_.TermsOf(task, device);
    const int64_t asked = memory_can_run_out_[device] ? terms.asked_bytes : 0;
    const auto kind =
        kinds_[device].try_emplace({any_gpu && !IsGpu(device), asked, std::move(terms.copies)}).first;
    kind->second.coming.emplace(terms.there_at, position_[static_cast<size_t>(task)]);
    pairs_[static_cast<size_t>(task)].push_back({device, terms.there_at, kind});
  }
}

void ReadyPairs::Remove(int task) {
  const int position = position_[static_cast<size_t>(task)];
  for (const Pair& pair : pairs_[static_cast<size_t>(task)]) {
    Peers& peers = pair.kind->second;
    if (peers.waiting.erase(position) == 0) peers.coming.erase({pair.there_at, position});
    if (peers.waiting.empty() && peers.coming.empty()) kinds_[pair.device].erase(pair.kind);
  }
  std::vector<Pair>().swap(pairs_[static_cast<size_t>(task)]);
}

void ReadyPairs::Renew(int task) {
  Remove(task);
  Add(task);
}

int64_t ReadyPairs::FreeFor(const Kind& kind, DeviceId device) const {
  int64_t free = schedule_.FreeAt(device);
  for (const ListSchedule::QueuedCopies& copies : kind.copies)
    free = std::max(free, schedule_.FreeAt(copies.queue) + copies.ns);
  return free;
}

int ReadyPairs::Unwelcome(const Kind& kind, DeviceId device) const {
  if (memory_can_run_out_[device] && kind.asked_bytes > schedule_.RoomOn(device)) return 2;
  return kind.spares_gpu ? 1 : 0;
}

ReadyPairs::Choice ReadyPairs::BestOn(DeviceId device, int64_t kept_until) {
  Choice best;
  for (auto& [kind, peers] : kinds_[device]) {
    const int unwelcome = Unwelcome(kind, device);
    if (unwelcome > best.unwelcome) continue;
    const int64_t free = FreeFor(kind, device);
    while (!peers.coming.empty() && peers.coming.begin()->first <= free) {
      peers.waiting.insert(peers.coming.begin()->second);
      peers.coming.erase(peers.coming.begin());
    }
    int64_t start = std::max(free, kept_until);
    int position = peers.waiting.empty() ? std::numeric_limits<int>::max() : *peers.waiting.begin();
    // The first of those that are there at one moment is enough.
    for (auto next = peers.coming.begin(); next != peers.coming.end() && next->first <= start;
         next = peers.coming.lower_bound({next->first + 1, 0}))
      position = std::min(position, next->second);
    if (position == std::numeric_limits<int>::max()) std::tie(start, position) = *peers.coming.begin();
    best = std::min(best, {unwelcome, start, position, device});
  }
  return best;
}

ReadyPairs::Choice ReadyPairs::Of(int task, DeviceId device) const {
  for (const Pair& pair : pairs_[static_cast<size_t>(task)]) {
    if (pair.device != device) continue;
    const Kind& kind = pair.kind->first;
    return {Unwelcome(kind, device), std::max(pair.there_at, FreeFor(kind, device)),
            position_[static_cast<size_t>(task)], device};
  }
  return {};
}

}  // namespace lanescope
