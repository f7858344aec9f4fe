// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/happens_before.h"

#include <algorithm>

namespace lanescope::compile {

HappensBefore::HappensBefore(int num_in_order_queues, size_t num_commands)
    : width_(static_cast<size_t>(num_in_order_queues + kMaxChains)),
      num_queues_(num_in_order_queues),
      num_chains_(num_in_order_queues),
      tail_(width_),
      length_(width_, 0) {
  places_.reserve(num_commands);
  clocks_.reserve(num_commands);
  rows_ = std::make_unique_for_overwrite<int32_t[]>(num_commands * width_);
}

void HappensBefore::Add(std::span<const CommandId> predecessors, int in_order_queue) {
  joined_.assign(predecessors.begin(), predecessors.end());
  if (in_order_queue >= 0 && tail_[static_cast<size_t>(in_order_queue)].exists())
    joined_.push_back(tail_[static_cast<size_t>(in_order_queue)]);
  const Clock clock = ClockFor(joined_);
  int chain = in_order_queue >= 0 ? in_order_queue : ChainFor(predecessors, clock);
  if (chain < 0 && num_chains_ < static_cast<int>(width_)) chain = num_chains_++;
  clocks_.Add(clock);
  const CommandId id = places_.Add({});
  if (chain < 0) return;
  tail_[static_cast<size_t>(chain)] = id;
  places_.back() = {chain, ++length_[static_cast<size_t>(chain)]};
}

HappensBefore::Clock HappensBefore::ClockFor(std::span<const CommandId> predecessors) {
  Clock clock;
  if (!predecessors.empty()) {
    // One that all others come before stands for all of them.
    const CommandId latest = *std::max_element(predecessors.begin(), predecessors.end());
    const bool alone = std::all_of(predecessors.begin(), predecessors.end(), [&](CommandId before) {
      return before == latest || Before(before, latest);
    });
    if (alone && ShareClock(latest, &clock)) return clock;
  }
  clock = {num_rows_++, {}};
  int32_t* row = rows_.get() + static_cast<size_t>(clock.row) * width_;
  if (predecessors.empty()) std::fill_n(row, width_, 0);
  for (size_t i = 0; i < predecessors.size(); ++i) Join(predecessors[i], i == 0, row);
  return clock;
}

// The predecessor comes before, with all before it: in one chain that is the same row.
bool HappensBefore::ShareClock(CommandId predecessor, Clock* clock) const {
  const Place place = PlaceOf(predecessor);
  *clock = clocks_[predecessor];
  if (place.chain < 0) return true;
  if (clock->last.chain >= 0 && clock->last.chain != place.chain) return false;
  clock->last = place;
  return true;
}

// Adds to a row what is complete before the command, and the command. The first time the row is written.
void HappensBefore::Join(CommandId command, bool first, int32_t* row) const {
  const Clock& clock = clocks_[command];
  const int32_t* other = Row(clock);
  if (first) {
    std::copy_n(other, width_, row);
  } else {
    for (size_t i = 0; i < width_; ++i) row[i] = std::max(row[i], other[i]);
  }
  for (const Place& place : {clock.last, PlaceOf(command)}) {
    if (place.chain >= 0) row[place.chain] = std::max(row[place.chain], place.position);
  }
}

// A chain that goes on with a command: one that ends in a predecessor, or any that ends before the command;
// -1 where there is none.
int HappensBefore::ChainFor(std::span<const CommandId> predecessors, const Clock& clock) const {
  for (const CommandId before : predecessors) {
    const int candidate = places_[before].chain;
    if (candidate >= num_queues_ && tail_[static_cast<size_t>(candidate)] == before) return candidate;
  }
  const int32_t* row = Row(clock);
  for (int chain = num_queues_; chain < num_chains_; ++chain) {
    const int32_t position = chain == clock.last.chain ? clock.last.position : row[chain];
    if (position == length_[static_cast<size_t>(chain)]) return chain;
  }
  return -1;
}

}  // namespace lanescope::compile
