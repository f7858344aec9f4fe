#include "core/compile/happens_before.h"

#include <algorithm>

namespace lanescope::compile {

HappensBefore::HappensBefore(int num_in_order_queues)
    : width_(static_cast<size_t>(num_in_order_queues + kMaxChains)),
      num_queues_(num_in_order_queues),
      num_chains_(num_in_order_queues),
      tail_(width_, -1),
      length_(width_, 0) {}

void HappensBefore::Add(std::span<const int> predecessors, int in_order_queue) {
  const auto id = chain_.size();
  clocks_.resize(clocks_.size() + width_, 0);
  int32_t* clock = clocks_.data() + id * width_;
  const auto join = [&](int before) {
    const auto b = static_cast<size_t>(before);
    const int32_t* other = clocks_.data() + b * width_;
    for (size_t i = 0; i < width_; ++i) clock[i] = std::max(clock[i], other[i]);
    if (chain_[b] >= 0) {
      auto& mine = clock[chain_[b]];
      mine = std::max(mine, position_[b]);
    }
  };
  for (const int before : predecessors) join(before);

  int chain = -1;
  if (in_order_queue >= 0) {
    chain = in_order_queue;
    const int previous = tail_[static_cast<size_t>(chain)];
    if (previous >= 0) join(previous);
  } else {
    for (const int before : predecessors) {
      const int candidate = chain_[static_cast<size_t>(before)];
      if (candidate >= num_queues_ && tail_[static_cast<size_t>(candidate)] == before) {
        chain = candidate;
        break;
      }
    }
    if (chain < 0 && num_chains_ < static_cast<int>(width_)) chain = num_chains_++;
  }
  chain_.push_back(chain);
  if (chain >= 0) {
    tail_[static_cast<size_t>(chain)] = static_cast<int>(id);
    position_.push_back(++length_[static_cast<size_t>(chain)]);
  } else {
    position_.push_back(0);
  }
}

}  // namespace lanescope::compile
