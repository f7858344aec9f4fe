// SPDX-License-Identifier: Apache-2.0
// Ends a group of threads together, and says why they ended.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/thread.h"

namespace lanescope::exec {

// Owns its threads; thread-safe. A thread that it has started looks at ShouldStop often, and asks the others
// to stop where it cannot go on. Errors of a clean stop (OutOfRange, as a rule) end the threads and are no
// error of the group.
class Coordinator {
 public:
  explicit Coordinator(std::vector<Code> clean_stops = {Code::kOutOfRange})
      : clean_stops_(std::move(clean_stops)) {}
  // Asks all to stop and waits for them, however long that takes.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Starts a thread of the group. What `run` throws is a request to stop. Throws ResourceExhausted where
  // there is no thread left.
  void Start(const std::string& name, std::function<void()> run);

  // All threads are to end. The first call's error is kept, unless it is one of a clean stop. After Join it
  // is thrown at once.
  void RequestStop(const std::optional<Error>& error = std::nullopt);
  bool ShouldStop() const;
  // Waits until a stop is requested, but no longer than so many milliseconds. Whether it is.
  bool WaitForStop(int64_t timeout_ms) const;
  // Waits until a stop is requested.
  void WaitForStop() const;

  // Waits until all threads have ended, or a stop is requested; from then on for `grace_ms`. Throws the kept
  // error, or else FailedPrecondition naming the threads that still run, unless these are ignored.
  void Join(int64_t grace_ms = 120'000, bool ignore_live_threads = false);

 private:
  struct Member {
    std::string name;
    Thread thread;
    bool has_ended = false;
  };

  bool AllHaveEnded() const;
  bool IsClean(const Error& error) const;
  void Stop(const std::optional<Error>& error);

  const std::vector<Code> clean_stops_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stop_ = false;
  bool joined_ = false;
  std::optional<Error> error_;
  std::list<Member> members_;
};

}  // namespace lanescope::exec
