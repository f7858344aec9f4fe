// SPDX-License-Identifier: Apache-2.0
// Which command is sure to be complete before which other one starts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/schedule/schedule.h"

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
  // At most `num_commands` may be added.
  HappensBefore(int num_in_order_queues, size_t num_commands);
  void Add(std::span<const CommandId> predecessors, int in_order_queue);
  // Where a command stands. No two in chains have the same place.
  struct Place {
    int32_t chain = -1;    // -1: in none
    int32_t position = 0;  // from 1
    friend bool operator==(const Place&, const Place&) = default;
  };
  Place PlaceOf(CommandId command) const { return places_[command]; }
  // Whether the chain is a queue that runs in order.
  bool InOrderQueue(Place place) const { return place.chain >= 0 && place.chain < num_queues_; }
  // Whether the command can be known to be before any other.
  bool InChain(CommandId command) const { return PlaceOf(command).chain >= 0; }
  // True when the command at `first`, which is in a chain, is complete before `second` starts, on every
  // execution.
  bool Before(Place first, CommandId second) const {
    const Clock& clock = clocks_[second];
    const int32_t position = first.chain == clock.last.chain ? clock.last.position : Row(clock)[first.chain];
    return position >= first.position;
  }
  bool Before(CommandId first, CommandId second) const {
    return InChain(first) && Before(PlaceOf(first), second);
  }

 private:
  // Commands complete before one starts: of the chain of `last` all to that place, of every other chain
  // all to the position that the row says. A command whose predecessors all come before one of them has that
  // one's row: most commands then have none of their own, and the rows are large.
  struct Clock {
    int row = 0;
    Place last;
  };

  const int32_t* Row(const Clock& clock) const {
    return rows_.get() + static_cast<size_t>(clock.row) * width_;
  }
  Clock ClockFor(std::span<const CommandId> predecessors);
  bool ShareClock(CommandId predecessor, Clock* clock) const;
  void Join(CommandId command, bool first, int32_t* row) const;
  int ChainFor(std::span<const CommandId> predecessors, const Clock& clock) const;

  size_t width_;
  int num_queues_;
  int num_chains_;
  IdVector<CommandId, Place> places_;
  IdVector<CommandId, Clock> clocks_;
  std::unique_ptr<int32_t[]> rows_;  // by row and chain; written once, never grown or cleared
  int num_rows_ = 0;
  std::vector<CommandId> tail_;    // last command of each chain
  std::vector<int32_t> length_;    // commands in each chain
  std::vector<CommandId> joined_;  // of the current command; kept for its memory
};

}  // namespace lanescope::compile
