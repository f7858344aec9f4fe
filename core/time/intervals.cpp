// SPDX-License-Identifier: Apache-2.0
#include "core/time/intervals.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lanescope {
namespace {

bool StartsBefore(const Interval& a, const Interval& b) { return a.start < b.start; }

// Joins sorted intervals that touch, in place.
void Coalesce(std::vector<Interval>* intervals) {
  size_t kept = 0;
  for (const Interval& next : *intervals) {
    if (kept > 0 && next.start <= (*intervals)[kept - 1].end) {
      (*intervals)[kept - 1].end = std::max((*intervals)[kept - 1].end, next.end);
    } else {
      (*intervals)[kept++] = next;
    }
  }
  intervals->resize(kept);
}

}  // namespace

void IntervalSet::Merge(IntervalSet* more) {
  if (more->empty()) return;
  intervals_ = UnionOf(Union(), more->Union());
}

std::span<const Interval> IntervalSet::Union() {
  if (!sorted_) intervals_ = UnionOf(std::move(intervals_));
  sorted_ = true;
  return intervals_;
}

int64_t TotalLength(std::span<const Interval> intervals) {
  int64_t total = 0;
  for (const Interval& interval : intervals) total += interval.end - interval.start;
  return total;
}

int64_t IntersectionLength(std::span<const Interval> a, std::span<const Interval> b) {
  int64_t total = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    total += std::max<int64_t>(0, std::min(a[i].end, b[j].end) - std::max(a[i].start, b[j].start));
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return total;
}

std::vector<Interval> UnionOf(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), StartsBefore);
  Coalesce(&intervals);
  return intervals;
}

std::vector<Interval> UnionOf(std::span<const Interval> a, std::span<const Interval> b) {
  std::vector<Interval> merged(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), merged.begin(), StartsBefore);
  Coalesce(&merged);
  return merged;
}

std::vector<Interval> ClipTo(std::span<const Interval> a, std::span<const Interval> windows) {
  std::vector<Interval> inside;
  for (const Interval& window : windows) {
    auto next = std::lower_bound(a.begin(), a.end(), window.start,
                                 [](const Interval& interval, int64_t time) { return interval.end <= time; });
    for (; next != a.end() && next->start < window.end; ++next) {
      inside.push_back({std::max(next->start, window.start), std::min(next->end, window.end)});
    }
  }
  return inside;
}

std::vector<Interval> Without(std::span<const Interval> from, std::span<const Interval> taken) {
  std::vector<Interval> left;
  size_t next = 0;
  for (const Interval& interval : from) {
    int64_t start = interval.start;
    while (next < taken.size() && taken[next].end <= start) ++next;
    for (size_t i = next; i < taken.size() && taken[i].start < interval.end; ++i) {
      if (taken[i].start > start) left.push_back({start, taken[i].start});
      start = std::max(start, taken[i].end);
    }
    if (start < interval.end) left.push_back({start, interval.end});
  }
  return left;
}

bool Contains(std::span<const Interval> intervals, int64_t time) {
  const auto after = std::ranges::upper_bound(intervals, time, {}, &Interval::start);
  return after != intervals.begin() && time <= std::prev(after)->end;
}

}  // namespace lanescope
