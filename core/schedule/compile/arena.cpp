// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/arena.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope::compile {

int Arena::Take(int64_t bytes, CommandId command) {
  LANESCOPE_CHECK(bytes > 0);
  const int found =
      free_.FindBlock(bytes, kMaxTries, [&](const FreeRange& range) { return IsFree(range, command); });
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

bool Arena::IsFreeAfter(int number, std::span<const Place> last_users) const {
  if (number < 0 || !blocks_[static_cast<size_t>(number)].free) return false;
  return std::ranges::equal(Users(number), last_users);
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
  if (IsFreeAfter(next, last_users)) {
    MarkHeld(next);
    AbsorbNext(number);
  }
  if (IsFreeAfter(previous, last_users)) {
    MarkHeld(previous);
    AbsorbNext(previous);
    MarkFree(previous);
    return;
  }
  block(number).first_user = static_cast<int>(users_.size());
  block(number).num_users = static_cast<int>(last_users.size());
  users_.insert(users_.end(), last_users.begin(), last_users.end());
  MarkFree(number);
}

}  // namespace lanescope::compile
