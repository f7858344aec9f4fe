// SPDX-License-Identifier: Apache-2.0
// Ends work that is in progress, from another thread or from a signal handler.
#pragma once

#include <array>
#include <atomic>
#include <string>

namespace lanescope::exec {
class Session;
}  // namespace lanescope::exec

namespace lanescope::study {

// Must outlive the work that it is given to. Any thread may call any method; those of who cancels are
// async-signal-safe.
class Cancellation {
 public:
  static constexpr int kMaxRunning = 64;

  Cancellation() = default;
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // The work ends soon with Cancelled, in the middle of a step too. `signal`: which one asks for it; 0: none
  // does. The first counts.
  void Cancel(int signal = 0) noexcept;
  bool cancelled() const noexcept { return cancelled_.load(); }
  // Somebody ends in order once cancelled: closes a trace, kills a child, removes a folder. Where nobody
  // does, a signal handler may end the process at once.
  bool watched() const noexcept { return watches_.load() > 0; }

  // For functions that look at a flag or at the signal's number (0: none).
  const std::atomic<bool>& flag() const { return cancelled_; }
  const std::atomic<int>& signal() const { return signal_; }
  // "interrupted by SIGTERM"; without a signal "it was stopped".
  std::string Reason() const;
  // Throws Cancelled with the reason, once cancelled.
  void Check() const;

  // While one lives, it is watched.
  class Watch {
   public:
    explicit Watch(Cancellation* of) : of_(of) { of_->watches_.fetch_add(1); }
    ~Watch() { of_->watches_.fetch_sub(1); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Cancellation* of_;
  };

  // While it lives, Cancel ends the session's step. Of kMaxRunning sessions at once. Throws Cancelled, once
  // cancelled. `of` may be null.
  class Running {
   public:
    Running(Cancellation* of, exec::Session* session);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Cancellation* of_;
    std::atomic<exec::Session*>* slot_ = nullptr;
  };

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<int> signal_{0};
  std::atomic<int> watches_{0};
  // A session may go once it is no longer here and nobody who read it from here is still ending its step.
  // Sequentially consistent: who counts itself in before reading is seen by who clears before counting.
  std::array<std::atomic<exec::Session*>, kMaxRunning> running_{};
  std::atomic<int> ending_{0};
};

}  // namespace lanescope::study
