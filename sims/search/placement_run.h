// SPDX-License-Identifier: Apache-2.0
// A quick simulation of one placement that can go on from the middle of an earlier one. Internal to sims.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/number_set.h"
#include "core/time/timer_tree.h"
#include "sims/search/placement_layout.h"
#include "sims/search/placement_model.h"

namespace lanescope::sims {

// All that a run changes but the ready items. Bytes and reads are counted from what lies there when the step
// begins, so that a moment says nothing of what comes later.
struct PlacementCheckpoint {
  explicit PlacementCheckpoint(const PlacementModel& model);

  // A driver of a queue.
  struct Server {
    enum class Phase : uint8_t { kAsleep, kWaking, kIdle, kBusy };
    Phase phase = Phase::kIdle;
    int item = -1;
    int64_t free_at = 0;
  };
  // An item on its way to its queue.
  struct Handoff {
    int64_t time = 0;
    int item = -1;
    bool operator>(const Handoff& other) const { return time > other.time; }
  };

  int64_t now = 0, last_end = 0;
  int ended = 0;
  std::vector<int> arrived;  // by item: of the ends that it waits for
  std::vector<Server> servers;
  std::vector<int> idle, next;  // by queue: workers; items of an in-order queue that were picked
  TimerTree timers;             // by server
  std::vector<int64_t> resource_free;
  std::vector<Handoff> handoffs;  // heap
  std::vector<int64_t> ready_at;  // by item, where handing over takes time
  std::vector<int> read;          // by tensor, then by copy; where memory can run out
  IdVector<DeviceId, int64_t> held, most_held;
};

struct KeptCheckpoint {
  PlacementCheckpoint moment;
  std::vector<std::vector<int>> ready;  // by queue: items
};

// Some moments of a run, and for each task how many of them come before its end.
struct MomentLog {
  std::vector<KeptCheckpoint> kept;  // the first `count`; the others are memory to use again
  int count = 0;
  std::vector<int> at_end;
};

// Runs what a layout says now. At one instant all ends come first, then queues pick in the order of their
// numbers. Copies that pass one link go one after the other. One a thread.
class PlacementRun {
 public:
  PlacementRun(const PlacementModel& model, const PlacementLayout& layout);

  static constexpr int64_t kTooLong = INT64_MAX;
  // To the beginning of the step, or to a moment that the layout's run shares with the one that it is of.
  void Begin();
  void GoOnFrom(const KeptCheckpoint& kept);
  // From there to the last end, or kTooLong as soon as it is sure to come after `limit`, or where a device
  // would have to hold more than it has room. Adds moments to the log.
  int64_t ToEnd(int64_t limit, MomentLog* log);
  // Beside the state, by device; read where memory can run out.
  void SetRoom(DeviceId device, int64_t bytes) { room_[device] = bytes; }
  int64_t room(DeviceId device) const { return room_[device]; }

 private:
  using Server = PlacementCheckpoint::Server;
  static constexpr int kMostQueues = 3 * PlacementModel::kMostDevices;

  void ForgetReady();
  void Keep(MomentLog* log);
  // The idle server of a queue that is free first; -1: none is idle.
  int IdleServer(int queue) const {
    const int first = first_server_[IndexOf(queue)], end = first_server_[IndexOf(queue) + 1];
    if (end - first == 1) return at_.servers[IndexOf(first)].phase == Server::Phase::kIdle ? first : -1;
    return IdleServerOfMany(first, end);
  }
  int IdleServerOfMany(int first, int end) const;
  int NeedsOf(int item, int queue) const {
    const int servers = m_.queues_[IndexOf(queue)].servers;
    if (servers == 1 || item >= num_tasks_) return 1;
    return std::min(servers, m_.tasks_.Workers(item, DeviceId(queue)));
  }
  void Touch(int queue) { touched_[IndexOf(queue / 64)] |= uint64_t{1} << (queue % 64); }
  void Arrived(int item, int from_queue);
  void ArrivedAtCopies(int tensor, int from_queue);
  void ArrivedAtCopiesOf(int tensor, int from, int from_queue);
  void MakeReady(int item);
  bool Dispatch(int queue, int64_t limit);
  int64_t StartOfCopy(const PlacementLayout::Copy& copy, int64_t start);
  bool HoldOutputs(int task);
  void Advance();
  void Expire(int number);
  void FinishLaunch(int task, int queue);
  void FinishCopy(int number, int queue);
  bool Hold(DeviceId device, int64_t bytes);
  void ReadAtHome(int tensor);
  void ReadCopy(int number);

  const PlacementModel& m_;
  const PlacementLayout& layout_;
  const int num_tasks_;
  std::vector<int> first_server_;     // by queue, and behind the last
  std::vector<int> queue_of_server_;  // by server
  PlacementCheckpoint at_;
  const TimerTree no_timers_;
  std::vector<NumberSet> ready_;                      // by queue: ranks
  std::array<uint64_t, kMostQueues / 64> touched_{};  // a bit for each queue that may pick
  NumberSet left_;                                    // while a moment is kept
  IdVector<DeviceId, int64_t> room_;
  MomentLog* log_ = nullptr;
  int spacing_ = 1;  // of moments, in items
};

}  // namespace lanescope::sims
