// SPDX-License-Identifier: Apache-2.0
// The time of a placement by a quick simulation that needs no compiled schedule: the search asks it millions
// of times, and the simulator only of the best. Internal to sims.
#pragma once

#include <cstdint>
#include <vector>

#include "sims/search/placement_layout.h"
#include "sims/search/placement_model.h"
#include "sims/search/placement_run.h"

namespace lanescope::sims {

// Evaluates one placement after the other, reusing its memory. Of the last one that it simulated to the end
// (the base) it keeps some moments; the next one goes on from the last of those that comes before all that
// differs, with the same result as from the beginning. One a thread.
class PlacementEvaluator {
 public:
  explicit PlacementEvaluator(const PlacementModel& model);

  static constexpr int64_t kTooLong = PlacementRun::kTooLong;
  // Step time in ns, or kTooLong as soon as it is sure to exceed `limit_ns`, or where a device would have to
  // hold more than `memory_share` of its memory.
  int64_t Evaluate(const PlacementState& state, int64_t limit_ns, double memory_share = 1);

  // Tasks and copies that were not simulated again, of all evaluations.
  int64_t spared() const { return spared_; }

 private:
  bool HoldState(const PlacementState& state, double memory_share);
  int SharedMoments(const PlacementState& state, double memory_share) const;
  bool ReadsCopy(const TaskRead& read, int group) const;
  int MomentsBefore(int group, int shared) const;
  int CheckpointsBeforeOrders(int shared) const;
  void Rebase(const PlacementState& state, double memory_share, int shared);

  const PlacementModel& m_;
  PlacementLayout layout_;
  PlacementRun run_;
  MomentLog log_;
  IdVector<DeviceId, int64_t> state_bytes_;
  int64_t spared_ = 0;
  bool has_base_ = false;
  PlacementState base_;
  double base_share_ = 1;
  MomentLog base_log_;
  std::vector<std::vector<int>> base_orders_;  // by queue
};

}  // namespace lanescope::sims
