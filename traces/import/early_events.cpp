// SPDX-License-Identifier: Apache-2.0
#include "traces/import/early_events.h"

#include <algorithm>

namespace lanescope::traces {
namespace {

// A clock that has just begun to count is none that since 1970 has.
constexpr int64_t kEarlyNs = 1'000'000;

}  // namespace

void EarlyEvents::Add(const ImportEvent& event) {
  if (event.start_ns > 0) first_ns_ = std::min(first_ns_, event.start_ns);
  if (event.start_ns <= kEarlyNs) return early_.push_back(event);
  usual_ns_ = std::min(usual_ns_, event.start_ns);
  trace_.events.push_back(event);
}

void EarlyEvents::Finish() {
  constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;
  const bool since_1970 = usual_ns_ != INT64_MAX && usual_ns_ + trace_.base_ns > kDay;
  early_.ForEach([&](const ImportEvent& event) {
    const int64_t start_ns = event.start_ns + trace_.base_ns, length_ns = event.end_ns - event.start_ns;
    const bool timeless =
        since_1970 ? start_ns < kDay
                   : IsOfDevice(event.kind) && start_ns == 0 && (length_ns == 0 || length_ns > kDay);
    if (timeless) {
      ++trace_.skipped;
    } else {
      trace_.events.push_back(event);
    }
  });
}

}  // namespace lanescope::traces
