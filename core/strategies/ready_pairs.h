// SPDX-License-Identifier: Apache-2.0
// Ready tasks with the devices that they may go to, and which of these pairs starts first. Internal to core.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/strategies/list_schedule.h"

namespace lanescope {

// On a device, tasks that ask for the same memory and copies wait for the same moment once their inputs are
// there: when device and queues are free, which only ever gets later. So each such kind is two lists, and
// what a commit delays is not looked at task by task. `tasks` and `schedule` must outlive it; whoever commits
// to the schedule says so by Remove, Renew and Add. Not thread-safe.
class ReadyPairs {
 public:
  // The less the better.
  struct Choice {
    int unwelcome = 3;  // 2: it does not fit; 1: it is the host, and a GPU could do it
    int64_t start = 0;
    int position = 0;
    DeviceId device;
    auto operator<=>(const Choice&) const = default;
  };

  // `position`: of every task, among those that start at once.
  ReadyPairs(const TaskGraph& tasks, const ListSchedule& schedule, std::span<const int> position);

  void Add(int task);
  void Remove(int task);
  // Renews a task whose terms have changed.
  void Renew(int task);

  // The choice for a device that starts nothing before `kept_until`; unwelcome is 3 where no task may go
  // there.
  Choice BestOn(DeviceId device, int64_t kept_until);
  // The choice for a task that may go there; unwelcome is 3 elsewhere.
  Choice Of(int task, DeviceId device) const;

 private:
  struct Kind {
    bool spares_gpu = false;
    int64_t asked_bytes = 0;
    std::vector<ListSchedule::QueuedCopies> copies;
    auto operator<=>(const Kind&) const = default;
  };
  struct Peers {
    std::set<std::pair<int64_t, int>> coming;  // when all is there, and position
    std::set<int> waiting;                     // for device or queue alone: positions
  };
  using PeersByKind = std::map<Kind, Peers>;
  struct Pair {
    DeviceId device;
    int64_t there_at = 0;
    PeersByKind::iterator kind;
  };

  bool IsGpu(DeviceId device) const { return tasks_.machine().device(device).is_gpu(); }
  int64_t FreeFor(const Kind& kind, DeviceId device) const;
  int Unwelcome(const Kind& kind, DeviceId device) const;

  const TaskGraph& tasks_;
  const ListSchedule& schedule_;
  const std::span<const int> position_;
  IdVector<DeviceId, bool> memory_can_run_out_;
  IdVector<DeviceId, PeersByKind> kinds_;
  std::vector<std::vector<Pair>> pairs_;  // by task
};

}  // namespace lanescope
