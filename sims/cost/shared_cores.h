// SPDX-License-Identifier: Apache-2.0
// How far the launches of steps, and threads beside them, get when they share the cores of a computer.
// Internal to sims.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/time/intervals.h"

namespace lanescope::sims {

// At every moment all that runs goes on alike: where it wants more than there are, each at its share of the
// cores. Filled, then settled, then asked.
class SharedCores {
 public:
  explicit SharedCores(int cores) : cores_(cores > 1 ? cores : 1) {}

  // Each stretch wants a core.
  void AddLaunches(std::span<const Interval> running);
  void AddThread(std::span<const Interval> working);
  void Settle();

  // Time that what a thread did in the stretch takes alone.
  double ThreadWork(const Interval& stretch) const;
  // The work of a step that had shared its cores with no threads: its launches alone may be too many,
  // too.
  double StepWork(const Interval& stretch) const;
  // Whether more was wanted at some time in it than there was.
  bool IsCrowded(const Interval& stretch) const;
  // When it was not.
  std::vector<Interval> Quiet() const;

 private:
  // Integrals from the first change on.
  struct Sums {
    double thread = 0, step = 0, crowded = 0;
  };
  struct Change {
    int64_t time = 0;
    int launches = 0, threads = 0;
  };
  struct Moment {
    int64_t time = 0;
    Sums done, rate;
  };
  void Add(std::span<const Interval> stretches, int launches, int threads);
  Sums RateOf(int launches, int threads) const;
  Sums At(int64_t time) const;

  const int cores_;
  std::vector<Change> changes_;
  std::vector<Moment> moments_;
};

}  // namespace lanescope::sims
