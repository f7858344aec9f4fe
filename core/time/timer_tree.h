// SPDX-License-Identifier: Apache-2.0
// One timer per server and the earliest of them at hand. Internal to core and sims.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "core/time/ticks.h"

namespace lanescope {

// A tournament over a fixed number of timers: Set costs log2(n) comparisons without a branch that depends on
// the data, Earliest is a read. Nodes hold times and not only winners, so that the loads on the way up do not
// wait for each other. Ties go to the smaller number. Times are not negative. Owned and used by one thread.
class TimerTree {
 public:
  explicit TimerTree(size_t timers) : leaves_(std::bit_ceil(timers < 2 ? 2 : timers)), nodes_(2 * leaves_) {
    for (size_t i = 0; i < leaves_; ++i) nodes_[leaves_ + i].timer = static_cast<int>(i);
    for (size_t i = leaves_ - 1; i > 0; --i) nodes_[i] = nodes_[2 * i];
    changed_.reserve(leaves_);
  }

  void Set(int timer, Ticks time) {
    nodes_[leaves_ + static_cast<size_t>(timer)].time = time;
    Climb(timer);
  }
  // Set for one of several timers: it counts from Apply on.
  void Change(int timer, Ticks time) {
    nodes_[leaves_ + static_cast<size_t>(timer)].time = time;
    changed_.push_back(timer);
  }
  // Plays again what the changes concern: their ways up, or everything where that is less.
  void Apply() {
    if (changed_.size() * static_cast<size_t>(std::bit_width(leaves_) - 1) < leaves_) {
      for (const int timer : changed_) Climb(timer);
    } else {
      for (size_t i = leaves_ - 1; i > 0; --i) {
        const Node left = nodes_[2 * i], right = nodes_[2 * i + 1];
        const bool later = right.time < left.time;
        nodes_[i] = {later ? right.time : left.time, later ? right.timer : left.timer};
      }
    }
    changed_.clear();
  }
  int Earliest() const { return nodes_[1].timer; }
  Ticks EarliestTime() const { return nodes_[1].time; }
  Ticks TimeOf(int timer) const { return nodes_[leaves_ + static_cast<size_t>(timer)].time; }

 private:
  struct Node {
    Ticks time = kNever;
    int timer = 0;
  };

  void Climb(int timer) {
    size_t i = leaves_ + static_cast<size_t>(timer);
    Node winner = nodes_[i];
    for (; i > 1; i /= 2) {
      const Node sibling = nodes_[i ^ 1];
      // A left sibling (i is odd) wins a tie.
      const bool loses = sibling.time - static_cast<Ticks>(i & 1) < winner.time;
      winner.time = loses ? sibling.time : winner.time;
      winner.timer = loses ? sibling.timer : winner.timer;
      nodes_[i / 2] = winner;
    }
  }

  size_t leaves_;
  std::vector<Node> nodes_;
  std::vector<int> changed_;
};

}  // namespace lanescope
