// SPDX-License-Identifier: Apache-2.0
// Work that may have to end before it is done: whoever starts it says when, its long loops ask.
#pragma once

#include <atomic>
#include <cstdint>

namespace lanescope {

// While it lives, StopPoint ends what the thread does. Scopes nest: an inner one ends no later than those
// around it. Threads that the work starts want a scope of their own.
class StopScope {
 public:
  static constexpr int64_t kNoDeadline = INT64_MAX;

  // `cancelled` may be null, and must outlive the scope. `deadline_ns`: as NowNs has it.
  StopScope(const std::atomic<bool>* cancelled, int64_t deadline_ns);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  bool IsCancelled() const;
  bool IsLate() const;

 private:
  const StopScope* const around_;
  const std::atomic<bool>* const cancelled_;
  const int64_t deadline_ns_;
};

// Throws Cancelled or DeadlineExceeded once the thread's work must end; of threads without a scope nothing
// must. Some 20 ns, without a scope 1.
void StopPoint();
// Whether it would throw.
bool MustStop();

}  // namespace lanescope
