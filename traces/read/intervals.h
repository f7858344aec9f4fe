// Unions of time intervals: how long a device was busy, how much of the copies was hidden.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanescope::traces {

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

// Of sorted, disjoint intervals.
int64_t TotalLength(std::span<const Interval> intervals);
int64_t IntersectionLength(std::span<const Interval> a, std::span<const Interval> b);
std::vector<Interval> UnionOf(std::span<const Interval> a, std::span<const Interval> b);
// The parts of `a` inside windows, which are sorted and disjoint; for each window takes O(log n) beside what
// it returns.
std::vector<Interval> ClipTo(std::span<const Interval> a, std::span<const Interval> windows);

}  // namespace lanescope::traces
