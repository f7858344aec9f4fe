// SPDX-License-Identifier: Apache-2.0
#include "exec/calls/call_threads.h"

#include <utility>

namespace lanescope::exec {

CallThreads::~CallThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (Thread& thread : threads_) thread.Wait();
}

void CallThreads::Run(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  // Each idle thread takes one of those that wait.
  if (idle_ <= waiting_.size()) threads_.emplace_back("a call of a client", [this] { Work(); });
  waiting_.push_back(std::move(call));
  wake_.notify_one();
}

void CallThreads::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> call = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace lanescope::exec
