// SPDX-License-Identifier: Apache-2.0
// Which ops the change of a step comes from, over several pairs of runs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/runs/run_diff.h"
#include "core/runs/run_profile.h"

namespace lanescope::study {

// The time that an op adds to the change of a mean step: its time on the path and the waiting before it (ns).
struct OpChange {
  std::string name, devices;
  double change_ns = 0, low_ns = 0, high_ns = 0;
  bool is_certain = false;  // the interval does not hold 0; of few pairs it is all that they say
};

// Not thread-safe.
class OpChanges {
 public:
  void Add(const RunProfile& base, const RunProfile& candidate) { Add(DiffRuns(base, candidate)); }
  void Add(const RunDiff& pair);
  int pairs() const { return pairs_; }
  // The ops that change the step most, those that are certain first, at most so many.
  std::vector<OpChange> Largest(size_t count) const;

 private:
  struct Changes {
    std::string devices;
    std::map<int, double> by_pair;  // an op that a pair lacks changed nothing there
  };
  std::map<std::string, Changes> ops_;
  int pairs_ = 0;
};

}  // namespace lanescope::study
