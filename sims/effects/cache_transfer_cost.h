// SPDX-License-Identifier: Apache-2.0
// The cost of a launch's inputs that another core has just written.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"

namespace lanescope::sims {

// Additional time of reading bytes that a copy on another core wrote, over reading bytes that the reader
// wrote itself: measured at some sizes, straight lines from (0, 0) through them, constant beyond the last
// (what exceeds the caches comes from further away in either case).
class CacheTransferCurve {
 public:
  struct Point {
    int64_t bytes = 0;
    int64_t ns = 0;
  };
  CacheTransferCurve() = default;
  // By increasing bytes, all positive.
  explicit CacheTransferCurve(std::vector<Point> points) : points_(std::move(points)) {}

  bool empty() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  int64_t Ns(int64_t bytes) const;

 private:
  std::vector<Point> points_;
};

// The bytes that copies bring and a launch reads first, on a device made of host threads (0
// for everything else). Later readers on the device find them in its caches.
IdVector<CommandId, int64_t> FetchedBytes(const Schedule& schedule, const Machine& machine);

}  // namespace lanescope::sims
