// SPDX-License-Identifier: Apache-2.0
// How every thread of the project starts, and how what it throws comes back.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>

#include "core/base/error.h"

namespace lanescope {

// A thread that keeps what its work throws for whoever waits for it. Its work ends at the latest when the
// object does; what nobody has asked for by then is gone. Belongs to one thread at a time.
class Thread {
 public:
  Thread() = default;
  // Runs `work` on a new thread. Throws ResourceExhausted, naming the `purpose`, where the system has no
  // thread left; nothing has run then.
  Thread(std::string_view purpose, std::function<void()> work);
  ~Thread();
  Thread(Thread&& other) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;

  bool joinable() const { return thread_.joinable(); }
  // Waits until the work has ended. Idempotent, and nothing to do where none was begun.
  void Wait();
  // Waits, and throws what the work has thrown, once.
  void Join();

 private:
  std::unique_ptr<std::exception_ptr> thrown_;  // of the work, at an address that stays
  std::thread thread_;
};

// Waits for all of them, and throws what the first that failed has thrown.
void JoinAll(std::span<Thread> threads);

// A copy of the exception that is handled now, for threads that wait for more than the end of this one.
Error ErrorInFlight();

}  // namespace lanescope
