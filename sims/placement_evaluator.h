// What a placement takes by a quick simulation that needs no compiled schedule: the search asks it millions
// of times, and the simulator only of the best. Internal to sims.
#pragma once

#include <cstdint>
#include <vector>

#include "sims/placement_model.h"
#include "sims/task_order.h"

namespace lanescope::sims {

// Evaluates one placement after the other, reusing its memory. One a thread.
class PlacementEvaluator {
 public:
  explicit PlacementEvaluator(const PlacementModel& model);

  static constexpr int64_t kTooLong = INT64_MAX;
  // Step time in ns, or kTooLong as soon as it is sure to exceed `limit_ns`, or where a device would have to
  // hold more than `memory_share` of its memory. Copies that pass one link go one after the other.
  int64_t Evaluate(const PlacementState& state, int64_t limit_ns, double memory_share = 1);

 private:
  struct Copy {
    int tensor = -1;
    DeviceId src{0}, dst{0};
    int queue = 0;
    int next = -1;    // of the same tensor
    int pending = 0;  // tasks that it waits for
    int unread = 0;   // launches that read it and have not ended
    int64_t ns = 0;
  };
  // A driver of a queue.
  struct Server {
    enum class Phase : uint8_t { kAsleep, kWaking, kIdle, kBusy };
    Phase phase = Phase::kIdle;
    int64_t free_at = 0, issued = 0;
  };
  struct QueueState {
    std::vector<uint64_t> ready;  // heap of (rank, item)
    std::vector<int> order;       // in-order queues: items by rank
    std::vector<Server> servers;
    size_t next = 0;
    int idle = 0;  // workers
    bool touched = false;
  };
  struct Ending {
    int64_t time = 0;
    int item = -1;   // a task, or num_tasks + a copy; -1: the server is awake
    int queue = -1;  // -1: the item becomes ready
    int server = 0;
    bool operator>(const Ending& other) const { return time > other.time; }
  };

  bool Prepare(const PlacementState& state, double memory_share);
  void Reset();
  bool HoldState(double memory_share);
  void AddCopies(int tensor);
  DeviceId HomeOf(const PlacementModel::Tensor& tensor) const;
  DeviceId DeviceOf(int task) const { return device_[static_cast<size_t>(task)]; }
  int QueueOf(int item) const { return queue_[static_cast<size_t>(item)]; }
  DeviceId PlaceOf(const PlacementModel::Use& use) const;
  static int IdleServer(const QueueState& queue);
  int NeedsOf(int item, int queue) const;
  void Expect(int64_t time, int item, int queue, int server);
  void Arrived(int item, int from_queue, bool last);
  void MakeReady(int item);
  void Touch(int queue);
  bool Dispatch(int queue, int64_t limit);
  int64_t StartOfCopy(const Copy& copy, int64_t start);
  bool HoldOutputs(int task);
  void ArrivedAtTask(int task, int from_queue);
  void ArrivedAtCopies(int tensor, int from_queue);
  void Finish(const Ending& ending);
  void FinishLaunch(int task, int queue);
  void FinishCopy(int copy, int queue);
  bool Hold(DeviceId device, int64_t bytes);
  void Release(int tensor, DeviceId place);

  const PlacementModel& m_;
  const PlacementState* state_ = nullptr;
  TaskOrder order_;
  std::vector<DeviceId> device_;       // by task
  std::vector<int> queue_;             // by item
  std::vector<int> rank_, items_;      // by item; by rank
  std::vector<CopyOrder> copy_order_;  // by copy
  std::vector<int> pending_;           // by task
  std::vector<int> first_copy_;        // by tensor
  std::vector<DeviceId> home_;         // by tensor
  std::vector<int> unread_;            // by tensor: uses at its home and copies from it that have not ended
  std::vector<Copy> copies_;
  std::vector<QueueState> queues_;
  std::vector<int> touched_;
  std::vector<Ending> endings_;    // heap
  std::vector<int64_t> ready_at_;  // by item, where handing over takes time
  std::vector<int64_t> resource_free_;
  IdVector<DeviceId, int64_t> held_, room_;  // bytes
  int64_t now_ = 0;
  int64_t last_end_ = 0;
  bool out_of_memory_ = false;
  size_t ended_ = 0;
};

}  // namespace lanescope::sims
