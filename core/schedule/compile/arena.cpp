// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/arena.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope::compile {

int Arena::Take(int64_t bytes, CommandId command) {
  LANESCOPE_CHECK(bytes > 0);
  int found =
      free_.FindBlock(bytes, kMaxTries, [&](const FreeRange& range) { return IsFree(range, command); });
  if (found < 0) found = GrowLast(bytes, command);
  if (found < 0) return Append(bytes);
  MarkHeld(found);
  if (block(found).bytes > bytes) Split(found, bytes);
  return found;
}

bool Arena::IsFree(const FreeRange& range, CommandId command) const {
  if (!order_->Before(range.first_user, command)) return false;
  if (range.num_users == 1) return true;
  const auto users = Users(range.block).subspan(1);
  return std::all_of(users.begin(), users.end(),
                     [&](const Place& user) { return order_->Before(user, command); });
}

int Arena::Append(int64_t bytes) {
  const int number = static_cast<int>(blocks_.size());
  blocks_.push_back({end_, bytes, last_, -1});
  if (last_ >= 0) block(last_).next = number;
  last_ = number;
  end_ += bytes;
  return number;
}

// Keeps the first `bytes` of a block; the rest becomes a free block with the same users.
void Arena::Split(int number, int64_t bytes) {
  const int rest = static_cast<int>(blocks_.size());
  blocks_.push_back(block(number));
  Block& kept = block(number);
  Block& cut = block(rest);
  cut.offset += bytes;
  cut.bytes -= bytes;
  cut.previous = number;
  if (cut.next >= 0) block(cut.next).previous = rest;
  if (last_ == number) last_ = rest;
  kept.bytes = bytes;
  kept.next = rest;
  MarkFree(rest);
}

// A free block at the end need only grow by what it lacks. -1: there is none.
int Arena::GrowLast(int64_t bytes, CommandId command) {
  if (last_ < 0 || !block(last_).free || block(last_).bytes >= bytes) return -1;
  const auto users = Users(last_);
  if (!std::all_of(users.begin(), users.end(), [&](Place user) { return order_->Before(user, command); }))
    return -1;
  MarkHeld(last_);
  end_ += bytes - block(last_).bytes;
  block(last_).bytes = bytes;
  MarkFree(last_);
  return last_;
}

// Whether whoever starts after all of `later` starts after all of `earlier`, and nobody but they would have
// had what is free after `earlier` alone: the same commands, or later ones of queues that run in order.
bool Arena::Covers(std::span<const Place> later, std::span<const Place> earlier) const {
  if (std::ranges::equal(later, earlier)) return true;
  return std::all_of(earlier.begin(), earlier.end(), [&](Place first) {
    return order_->InOrderQueue(first) && std::any_of(later.begin(), later.end(), [&](Place second) {
             return first.chain == second.chain && first.position <= second.position;
           });
  });
}

bool Arena::IsFreeBy(int number, std::span<const Place> last_users) const {
  return number >= 0 && blocks_[static_cast<size_t>(number)].free && Covers(last_users, Users(number));
}

void Arena::AbsorbNext(int number) {
  const int absorbed = block(number).next;
  block(number).bytes += block(absorbed).bytes;
  block(number).next = block(absorbed).next;
  if (block(number).next >= 0) block(block(number).next).previous = number;
  if (last_ == absorbed) last_ = number;
}

void Arena::MarkFree(int number) {
  Block& freed = block(number);
  freed.free = true;
  free_.Insert({freed.bytes, freed.offset, number, freed.num_users, Users(number)[0]});
}

void Arena::MarkHeld(int number) {
  block(number).free = false;
  free_.Erase({block(number).bytes, block(number).offset, number});
}

void Arena::Give(int number, std::span<const Place> last_users) {
  const int next = block(number).next, previous = block(number).previous;
  if (IsFreeBy(next, last_users)) {
    MarkHeld(next);
    AbsorbNext(number);
  }
  if (IsFreeBy(previous, last_users)) {
    MarkHeld(previous);
    AbsorbNext(previous);
    number = previous;
  }
  block(number).first_user = static_cast<int>(users_.size());
  block(number).num_users = static_cast<int>(last_users.size());
  users_.insert(users_.end(), last_users.begin(), last_users.end());
  MarkFree(number);
}

}  // namespace lanescope::compile
