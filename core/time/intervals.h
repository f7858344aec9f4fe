// SPDX-License-Identifier: Apache-2.0
// Intervals of time: their union, and what of one list lies within or without another. How long a device was
// busy, how much of the copies was hidden, when input threads had the cores to themselves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanescope {

struct Interval {
  int64_t start = 0;
  int64_t end = 0;  // >= start
};

// Collects intervals in any order; cheap when they come nearly sorted by start. Value type.
class IntervalSet {
 public:
  void Add(int64_t start, int64_t end) {
    if (!intervals_.empty()) {
      Interval& last = intervals_.back();
      if (start < last.start) {
        sorted_ = false;
      } else if (start <= last.end) {
        if (end > last.end) last.end = end;
        return;
      }
    }
    intervals_.push_back({start, end});
  }
  // Adds what is in `more`; linear where both are sorted.
  void Merge(IntervalSet* more);
  // Sorted and disjoint.
  std::span<const Interval> Union();
  bool empty() const { return intervals_.empty(); }

 private:
  std::vector<Interval> intervals_;
  bool sorted_ = true;
};

// The sorted, disjoint intervals that cover the same time as these.
std::vector<Interval> UnionOf(std::vector<Interval> intervals);

// The length of sorted, disjoint intervals.
int64_t TotalLength(std::span<const Interval> intervals);
int64_t IntersectionLength(std::span<const Interval> a, std::span<const Interval> b);
std::vector<Interval> UnionOf(std::span<const Interval> a, std::span<const Interval> b);
// The parts of `a` inside windows; for each window takes O(log n) beside what it returns.
std::vector<Interval> ClipTo(std::span<const Interval> a, std::span<const Interval> windows);
// The parts of `from` outside `taken`.
std::vector<Interval> Without(std::span<const Interval> from, std::span<const Interval> taken);
// Ends belong to an interval.
bool Contains(std::span<const Interval> intervals, int64_t time);

}  // namespace lanescope
