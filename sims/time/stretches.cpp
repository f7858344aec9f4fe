#include "sims/time/stretches.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lanescope::sims {

std::vector<Stretch> Joined(std::vector<Stretch> stretches) {
  std::ranges::sort(stretches, {}, &Stretch::start);
  std::vector<Stretch> joined;
  for (const Stretch& stretch : stretches) {
    if (joined.empty() || stretch.start > joined.back().end) {
      joined.push_back(stretch);
    } else {
      joined.back().end = std::max(joined.back().end, stretch.end);
    }
  }
  return joined;
}

std::vector<Stretch> Without(std::span<const Stretch> from, std::span<const Stretch> taken) {
  std::vector<Stretch> left;
  size_t next = 0;
  for (const Stretch& stretch : from) {
    int64_t start = stretch.start;
    while (next < taken.size() && taken[next].end <= start) ++next;
    for (size_t i = next; i < taken.size() && taken[i].start < stretch.end; ++i) {
      if (taken[i].start > start) left.push_back({start, taken[i].start});
      start = std::max(start, taken[i].end);
    }
    if (start < stretch.end) left.push_back({start, stretch.end});
  }
  return left;
}

std::vector<Stretch> Within(std::span<const Stretch> stretches, std::span<const Stretch> windows) {
  return Without(stretches, Without(stretches, windows));
}

bool Contains(std::span<const Stretch> windows, int64_t time) {
  const auto after = std::ranges::upper_bound(windows, time, {}, &Stretch::start);
  return after != windows.begin() && time <= std::prev(after)->end;
}

}  // namespace lanescope::sims
