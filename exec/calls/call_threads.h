// SPDX-License-Identifier: Apache-2.0
// Threads for calls that may wait for each other. Internal to exec.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "core/base/thread.h"

namespace lanescope::exec {

// As many threads as calls have been under way at once. Thread-safe.
class CallThreads {
 public:
  CallThreads() = default;
  // Waits for all calls.
  ~CallThreads();
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  // Runs the call, which does not throw, on a thread that does nothing else. Throws what Thread throws.
  void Run(std::function<void()> call);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  size_t idle_ = 0;
  bool stop_ = false;
  std::vector<Thread> threads_;
};

}  // namespace lanescope::exec
