#include "core/compile/happens_before.h"

#include <algorithm>

namespace lanescope::compile {

HappensBefore::HappensBefore(int num_in_order_queues, size_t num_commands)
    : width_(static_cast<size_t>(num_in_order_queues + kMaxChains)),
      num_queues_(num_in_order_queues),
      num_chains_(num_in_order_queues),
      tail_(width_, -1),
      length_(width_, 0) {
  places_.reserve(num_commands);
  clocks_.reserve(num_commands * width_);
}

void HappensBefore::Add(std::span<const int> predecessors, int in_order_queue) {
  const auto id = places_.size();
  clocks_.resize(clocks_.size() + width_, 0);
  int32_t* clock = clocks_.data() + id * width_;
  const auto join = [&](int before) {
    const auto b = static_cast<size_t>(before);
    const int32_t* other = clocks_.data() + b * width_;
    for (size_t i = 0; i < width_; ++i) clock[i] = std::max(clock[i], other[i]);
    const Place& place = places_[b];
    if (place.chain >= 0) clock[place.chain] = std::max(clock[place.chain], place.position);
  };
  for (const int before : predecessors) join(before);

  int chain = -1;
  if (in_order_queue >= 0) {
    chain = in_order_queue;
    const int previous = tail_[static_cast<size_t>(chain)];
    if (previous >= 0) join(previous);
  } else {
    for (const int before : predecessors) {
      const int candidate = places_[static_cast<size_t>(before)].chain;
      if (candidate >= num_queues_ && tail_[static_cast<size_t>(candidate)] == before) {
        chain = candidate;
        break;
      }
    }
    // Any chain that ends before this command can go on with it.
    for (int c = num_queues_; chain < 0 && c < num_chains_; ++c) {
      if (clock[c] == length_[static_cast<size_t>(c)]) chain = c;
    }
    if (chain < 0 && num_chains_ < static_cast<int>(width_)) chain = num_chains_++;
  }
  places_.push_back({chain, 0});
  if (chain < 0) return;
  tail_[static_cast<size_t>(chain)] = static_cast<int>(id);
  places_.back().position = ++length_[static_cast<size_t>(chain)];
}

}  // namespace lanescope::compile
