// SPDX-License-Identifier: Apache-2.0
// One chain of the search: simulated annealing from one placement. Internal to sims.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/strategies/task_graph.h"
#include "sims/search/placement_model.h"

namespace lanescope::sims {

// The groups of a placement that moves may change. Immutable, shared by threads.
class MoveSpace {
 public:
  explicit MoveSpace(const TaskGraph& tasks);

  // Groups with more than one device to choose from.
  const std::vector<int>& movable() const { return movable_; }
  // Groups that exchange tensors with the group.
  const std::vector<int>& neighbours(int group) const { return neighbours_[static_cast<size_t>(group)]; }
  // The movable groups of a name scope, for scopes that are neither one group nor all.
  const std::vector<std::vector<int>>& scopes() const { return scopes_; }
  const TaskGraph& tasks() const { return tasks_; }
  bool Allows(int group, DeviceId device) const {
    return allowed_[static_cast<size_t>(group) * tasks_.machine().devices.size() + device.index()];
  }

 private:
  const TaskGraph& tasks_;
  std::vector<int> movable_;
  std::vector<std::vector<int>> neighbours_;
  std::vector<std::vector<int>> scopes_;
  std::vector<bool> allowed_;
};

struct ChainOptions {
  uint64_t seed = 1;
  int64_t evaluations = 10'000;
  double memory_share = 1;  // of each device that the model may fill
  size_t keep = 4;          // states in the result
  const std::atomic<bool>* stop = nullptr;
};

struct ChainResult {
  // Different states with the model's times, best first; the start is among them if nothing beats it.
  std::vector<std::pair<int64_t, PlacementState>> best;
  int64_t evaluations = 0;
};

// The acceptance threshold is drawn before a move is evaluated, so that an evaluation ends as soon as it is
// lost. Same input, same result, unless stopped.
ChainResult Anneal(const MoveSpace& space, const PlacementModel& model, const PlacementState& start,
                   const ChainOptions& options);

}  // namespace lanescope::sims
