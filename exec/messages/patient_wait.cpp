// SPDX-License-Identifier: Apache-2.0
#include "exec/messages/patient_wait.h"

#include <sys/prctl.h>

#include <algorithm>

#include "core/base/clock.h"

namespace lanescope::exec {

void PatientWait::Next(int64_t until_ns) {
  // A sleeper is let in soon, even where devices keep all cores busy; a yielder waits for their slices.
  constexpr int kLooksAtOnce = 3;
  constexpr int kShortSleeps = 100;
  constexpr int64_t kShortNs = 20'000, kLongNs = 100'000;
  // The library's own work behind a message is no news. A look each millisecond, for nothing, took
  // 2% of a core from those that compute.
  constexpr int64_t kLeastNewsNs = 1'000'000, kMostNewsNs = 20'000'000;
  thread_local const bool fine_timer = prctl(PR_SET_TIMERSLACK, 1UL) == 0;  // 50 us would be the least else
  static_cast<void>(fine_timer);
  if (++looks_ > kLooksAtOnce) {
    const int64_t now = NowNs();
    if (looks_ == kLooksAtOnce + 1) since_ns_ = now;
    const int64_t pause_ns = transport_.IsOneComputer()
                                 ? std::clamp((now - since_ns_) / 2, kLeastNewsNs, kMostNewsNs)
                             : looks_ < kLooksAtOnce + kShortSleeps ? kShortNs
                                                                    : kLongNs;
    transport_.AwaitNews(seen_, std::min(until_ns, now + pause_ns));
  }
  const uint32_t news = transport_.News();
  if (news != seen_) looks_ = 0;  // one look may not take all of it in
  seen_ = news;
}

}  // namespace lanescope::exec
