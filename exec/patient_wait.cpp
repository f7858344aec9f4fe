#include "exec/patient_wait.h"

#include <sys/prctl.h>

#include <algorithm>

#include "core/base/clock.h"

namespace lanescope::exec {

void PatientWait::Next(int64_t until_ns) {
  // Who sleeps is let in soon, even where devices keep all cores busy; who yields waits for their slices.
  constexpr int kLooksAtOnce = 3;
  constexpr int kShortSleeps = 100;
  constexpr int64_t kShortNs = 20'000, kLongNs = 100'000;
  constexpr int64_t kNewsNs = 1'000'000;  // what the library does behind a message is no news
  thread_local const bool fine_timer = prctl(PR_SET_TIMERSLACK, 1UL) == 0;  // 50 us would be the least else
  static_cast<void>(fine_timer);
  ++looks_;
  if (looks_ > kLooksAtOnce) {
    const int64_t pause_ns = transport_.IsOneComputer()             ? kNewsNs
                             : looks_ < kLooksAtOnce + kShortSleeps ? kShortNs
                                                                    : kLongNs;
    transport_.AwaitNews(seen_, std::min(until_ns, NowNs() + pause_ns));
  }
  const uint32_t news = transport_.News();
  if (news != seen_) looks_ = 0;  // one look may not take all of it in
  seen_ = news;
}

}  // namespace lanescope::exec
