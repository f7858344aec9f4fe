// SPDX-License-Identifier: Apache-2.0
#include "exec/run/coordinator.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lanescope::exec {

Coordinator::~Coordinator() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  for (Member& member : members_) {
    member.thread.Wait();
  }
}

void Coordinator::Start(const std::string& name, std::function<void()> run) {
  const std::lock_guard lock(mutex_);
  members_.push_back({name, {}, false});
  Member* const member = &members_.back();
  try {
    member->thread = Thread(name, [this, member, run = std::move(run)] {
      std::optional<Error> error;
      try {
        run();
      } catch (...) {
        error = ErrorInFlight();
      }
      const std::lock_guard end(mutex_);
      if (error) Stop(error);
      member->has_ended = true;
      changed_.notify_all();
    });
  } catch (...) {
    members_.pop_back();
    throw;
  }
}

void Coordinator::RequestStop(const std::optional<Error>& error) {
  const std::lock_guard lock(mutex_);
  if (joined_ && error && !IsClean(*error)) throw *error;
  Stop(error);
}

bool Coordinator::IsClean(const Error& error) const {
  return std::ranges::count(clean_stops_, error.code()) > 0;
}

// With the lock.
void Coordinator::Stop(const std::optional<Error>& error) {
  if (stop_) return;
  if (error && !IsClean(*error)) error_ = error;
  stop_ = true;
  changed_.notify_all();
}

bool Coordinator::ShouldStop() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

bool Coordinator::WaitForStop(int64_t timeout_ms) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [this] { return stop_; });
}

void Coordinator::WaitForStop() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_; });
}

bool Coordinator::AllHaveEnded() const { return std::ranges::all_of(members_, &Member::has_ended); }

void Coordinator::Join(int64_t grace_ms, bool ignore_live_threads) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || AllHaveEnded(); });
  stop_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::milliseconds(grace_ms), [this] { return AllHaveEnded(); });
  joined_ = true;
  std::string running;
  for (auto member = members_.begin(); member != members_.end();) {
    if (!member->has_ended) {
      running += (running.empty() ? "" : " ") + member++->name;
      continue;
    }
    // Its last act was to unlock the mutex.
    Thread ended = std::move(member->thread);
    member = members_.erase(member);
    lock.unlock();
    ended.Join();
    lock.lock();
  }
  if (error_) throw *error_;
  if (!running.empty() && !ignore_live_threads) {
    Throw(Code::kFailedPrecondition, "Coordinator stopped with threads still running: {}", running);
  }
}

}  // namespace lanescope::exec
