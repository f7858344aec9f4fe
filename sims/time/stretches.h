// Stretches of time: lists of them, sorted and disjoint, and what is left of one within or without another.
// Internal to sims.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanescope::sims {

struct Stretch {
  int64_t start = 0, end = 0;
};

// Of any stretches the list that covers the same time.
std::vector<Stretch> Joined(std::vector<Stretch> stretches);
// Of two lists: what of `from` is not in `taken`.
std::vector<Stretch> Without(std::span<const Stretch> from, std::span<const Stretch> taken);
// What lies in both.
std::vector<Stretch> Within(std::span<const Stretch> stretches, std::span<const Stretch> windows);
bool Contains(std::span<const Stretch> windows, int64_t time);

}  // namespace lanescope::sims
