// SPDX-License-Identifier: Apache-2.0
// The computers that the processes of a job ran on: which tasks share cores, and how fast those are.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/op.h"
#include "core/machine/machine.h"

namespace lanescope::sims {

// Speeds, as multiples of another one, lie between these.
inline constexpr double kMinSpeed = 1e-3, kMaxSpeed = 1e3;

// The work of one worker in launches of a class, as a multiple of that of the first computer's.
struct WorkerSpeed {
  double compute = 1, memory = 1;

  double Of(const OpWork& work) const;
};

// One beside the first.
struct OtherComputer {
  std::vector<std::string> tasks;  // whose processes ran there, as MachineTasks::names has them
  int cores = 0;                   // 0: no limit
  WorkerSpeed speed;
};

// Which computer a device is on: the first, unless another one names its task. Owns its list; const calls
// from any thread.
class Computers {
 public:
  explicit Computers(std::vector<OtherComputer> others);

  // 0: the first one; k: the k-th beside it.
  int NumberOf(const DeviceSpec& device) const;
  // All 1 on the first one, and of a device that is not made of threads.
  WorkerSpeed SpeedOf(const DeviceSpec& device) const;

 private:
  std::vector<OtherComputer> others_;
  std::map<std::string, int> number_of_;  // by task
};

}  // namespace lanescope::sims
