// SPDX-License-Identifier: Apache-2.0
// Work in the background where only the latest request matters.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/thread.h"

namespace lanescope::gui {

// One thread that works on the request made last. A new request cancels the one in work (its flag turns true)
// and replaces one that waits; results of stale requests are dropped. Submit and Take return at once and
// belong to one thread (the UI's). `wake` is called on the worker's thread when a result is there. The
// destructor cancels and waits for the work to notice.
template <typename Request, typename Result>
class LatestWorker {
 public:
  using Work = std::function<Result(const Request&, const std::atomic<bool>& cancelled)>;

  LatestWorker(Work work, std::function<void()> wake)
      : work_(std::move(work)),
        wake_(std::move(wake)),
        thread_("work in the background", [this] { Loop(); }) {}
  ~LatestWorker() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      if (current_ != nullptr) current_->store(true, std::memory_order_relaxed);
    }
    changed_.notify_all();
    thread_.Wait();
  }
  LatestWorker(const LatestWorker&) = delete;
  LatestWorker& operator=(const LatestWorker&) = delete;

  void Submit(Request request) {
    {
      std::lock_guard lock(mutex_);
      if (current_ != nullptr) current_->store(true, std::memory_order_relaxed);
      waiting_ = std::move(request);
      result_.reset();
      error_.clear();
    }
    changed_.notify_all();
  }

  // Drops what is waiting, in work or done.
  void Cancel() {
    std::lock_guard lock(mutex_);
    if (current_ != nullptr) current_->store(true, std::memory_order_relaxed);
    waiting_.reset();
    result_.reset();
    error_.clear();
  }

  // The result of the latest request, once.
  std::optional<Result> Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(result_, std::nullopt);
  }
  // Why the latest request failed, once; empty: it did not.
  std::string TakeError() {
    std::lock_guard lock(mutex_);
    return std::exchange(error_, std::string());
  }
  bool busy() const {
    std::lock_guard lock(mutex_);
    return waiting_.has_value() || (current_ != nullptr && !*current_);
  }

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || waiting_.has_value(); });
      if (stop_) return;
      const Request request = std::move(*waiting_);
      waiting_.reset();
      std::atomic<bool> cancelled{false};
      current_ = &cancelled;
      lock.unlock();
      std::optional<Result> result;
      std::string error;
      try {
        result = work_(request, cancelled);
      } catch (...) {
        error = ErrorInFlight().what();
      }
      lock.lock();
      current_ = nullptr;
      if (cancelled.load(std::memory_order_relaxed)) continue;
      result_ = std::move(result);
      error_ = std::move(error);
      if (!wake_) continue;
      lock.unlock();
      wake_();
      lock.lock();
    }
  }

  const Work work_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::optional<Request> waiting_;
  std::optional<Result> result_;
  std::string error_;
  std::atomic<bool>* current_ = nullptr;  // the cancel flag of the request in work
  bool stop_ = false;

  Thread thread_;  // last: starts when everything else is there
};

}  // namespace lanescope::gui
