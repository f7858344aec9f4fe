// Which command is sure to be complete before which other one starts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanescope::compile {

// Vector clocks over a decomposition of the commands into chains. A chain is an in-order queue, or a sequence
// of commands that depend on each other; at most kMaxChains of the latter exist, and commands outside any
// chain are never reported as being before anything, so that an answer "yes" is always true and a "no" may be
// too cautious.
class HappensBefore {
 public:
  static constexpr int kMaxChains = 48;

  // Commands must be added in an order that respects the dependencies. `in_order_queue`: -1 for a ready-first
  // queue, else a number shared by the commands that run strictly in the order of their addition.
  HappensBefore(int num_in_order_queues, size_t num_commands);
  void Add(std::span<const int> predecessors, int in_order_queue);
  // Whether the command can be known to be before any other.
  bool InChain(int command) const { return places_[static_cast<size_t>(command)].chain >= 0; }
  // True when `first` is complete before `second` starts, on every execution.
  bool Before(int first, int second) const {
    const Place& a = places_[static_cast<size_t>(first)];
    if (a.chain < 0) return false;
    return clocks_[static_cast<size_t>(second) * width_ + static_cast<size_t>(a.chain)] >= a.position;
  }

 private:
  size_t width_;
  int num_queues_;
  int num_chains_;
  struct Place {
    int32_t chain;
    int32_t position;  // from 1
  };
  std::vector<Place> places_;    // by command
  std::vector<int> tail_;        // last command of each chain
  std::vector<int32_t> length_;  // commands in each chain
  std::vector<int32_t> clocks_;  // what is complete before the command starts: by chain, the last position
};

}  // namespace lanescope::compile
