// SPDX-License-Identifier: Apache-2.0
// Gathers an InputRecord from the threads of a run.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/record/input_record.h"

namespace lanescope {

// Thread-safe. Times are NowNs.
class InputLog {
 public:
  // The thread that `who` stands for; it is new at the first call.
  int ThreadOf(const void* who, const std::string& op, const std::string& queue);
  // The next step of a thread begins: its number.
  int BeginStep(int thread);
  void EndStep(int thread, int step, int64_t start_ns, int64_t end_ns);
  // `wait.queue` is what `awaited` names.
  void Wait(InputWait wait, const std::string& awaited);
  // Takes the time of a thread's launch that may wait, once it could go on.
  void Work(int thread, int node, int64_t ns);
  // Whether it is time to look at the queues again, so that looking costs steps of a microsecond little.
  bool FillIsDue(int64_t now_ns);
  void Fill(const InputQueue& queue, int64_t time_ns, int64_t size);

  // All since the last call.
  InputRecord Take();
  // Entries that Take would give; may lag.
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct KnownQueue {
    InputQueue queue;
    int64_t size = -1;  // as it was last told
  };
  KnownQueue& QueueOf(const InputQueue& queue);
  void Count();

  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, int> threads_;  // who, and its op
  std::map<int, int> steps_;                                    // begun, by thread
  std::map<std::string, KnownQueue> queues_;
  std::map<std::pair<int, int>, InputWork> works_;  // by thread and node, since the last Take
  InputRecord record_;
  std::atomic<size_t> size_{0};
  std::atomic<int64_t> next_fill_ns_{0};
};

}  // namespace lanescope
