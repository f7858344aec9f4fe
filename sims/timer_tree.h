// One timer per lane and the earliest of them at hand.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "sims/ticks.h"

namespace lanescope {

// A tournament over a fixed number of timers: Set costs log2(n) comparisons without a branch that depends on
// the data, Earliest is a read. Ties go to the smaller number. Owned and used by one thread.
class TimerTree {
 public:
  explicit TimerTree(size_t timers) : leaves_(std::bit_ceil(timers < 2 ? 2 : timers)) {
    times_.assign(leaves_, kNever);
    winners_.resize(2 * leaves_);
    Reset();
  }

  void Reset() {
    times_.assign(leaves_, kNever);
    for (size_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = static_cast<int>(i);
    for (size_t i = leaves_ - 1; i > 0; --i) winners_[i] = winners_[2 * i];
  }
  void Set(int timer, Ticks time) {
    times_[static_cast<size_t>(timer)] = time;
    for (size_t i = (leaves_ + static_cast<size_t>(timer)) / 2; i > 0; i /= 2) {
      const int left = winners_[2 * i];
      const int right = winners_[2 * i + 1];
      winners_[i] = times_[static_cast<size_t>(right)] < times_[static_cast<size_t>(left)] ? right : left;
    }
  }
  int Earliest() const { return winners_[1]; }
  Ticks EarliestTime() const { return times_[static_cast<size_t>(winners_[1])]; }

 private:
  size_t leaves_;
  std::vector<Ticks> times_;
  std::vector<int> winners_;
};

}  // namespace lanescope
