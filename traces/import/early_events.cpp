// SPDX-License-Identifier: Apache-2.0
#include "traces/import/early_events.h"

#include <algorithm>

namespace lanescope::traces {

void EarlyEvents::Add(const ImportEvent& event) {
  if (event.start_ns <= 0) return early_.push_back(event);
  first_ns_ = std::min(first_ns_, event.start_ns);
  trace_.events.push_back(event);
}

void EarlyEvents::Finish() {
  constexpr int64_t kDay = int64_t{86'400} * 1'000'000'000;
  const bool since_1970 = first_ns_ != INT64_MAX && first_ns_ + trace_.base_ns > kDay;
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
