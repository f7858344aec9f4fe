// SPDX-License-Identifier: Apache-2.0
// The memory of one device while it is planned.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/schedule/compile/free_ranges.h"
#include "core/schedule/compile/happens_before.h"

namespace lanescope::compile {

// Blocks without gaps from offset 0 to end(), each held or free. A free one carries the commands after which
// it is free, and is given only to a command that starts after all of them on every execution.
class Arena {
 public:
  explicit Arena(const HappensBefore* order) : order_(order) {}

  // Holds the smallest free block that fits and is surely free when `command` starts, or new memory at the
  // end. Returns its number. `bytes` is more than 0: blocks are told apart by where they lie.
  int Take(int64_t bytes, CommandId command);
  // Frees a held block after `last_users`, one at least. Neighbours join it that are free after the same
  // commands, or after earlier ones of queues that run in order: elsewhere they would be free later than
  // before.
  void Give(int block, std::span<const HappensBefore::Place> last_users);

  int64_t offset(int block) const { return blocks_[static_cast<size_t>(block)].offset; }
  int64_t end() const { return end_; }

 private:
  using Place = HappensBefore::Place;
  static constexpr int kMaxTries = 24;

  struct Block {
    int64_t offset = 0;
    int64_t bytes = 0;
    int previous = -1, next = -1;       // neighbours by offset
    bool free = false;                  // then it is in free_, and
    int first_user = 0, num_users = 0;  // its last users are this part of users_
  };

  Block& block(int number) { return blocks_[static_cast<size_t>(number)]; }
  std::span<const Place> Users(int number) const {
    const Block& block = blocks_[static_cast<size_t>(number)];
    return {users_.data() + block.first_user, static_cast<size_t>(block.num_users)};
  }
  bool IsFree(const FreeRange& range, CommandId command) const;
  int Append(int64_t bytes);
  void Split(int number, int64_t bytes);
  int GrowLast(int64_t bytes, CommandId command);
  bool Covers(std::span<const Place> later, std::span<const Place> earlier) const;
  bool IsFreeBy(int number, std::span<const Place> last_users) const;
  void AbsorbNext(int number);
  void MarkFree(int number);
  void MarkHeld(int number);

  const HappensBefore* order_;
  std::deque<Block> blocks_;  // by number; one that another has absorbed stays unused
  std::vector<Place> users_;
  FreeRanges free_;
  int last_ = -1;  // the block that ends at end_
  int64_t end_ = 0;
};

}  // namespace lanescope::compile
