// SPDX-License-Identifier: Apache-2.0
// A process of those that ran a run together.
#pragma once

#include <cstdint>
#include <string>

namespace lanescope {

// Times of a run are by the first task's clock.
struct RunTask {
  std::string name;     // "/job:worker/task:1"
  std::string process;  // "rank 1 on node7"
  int64_t clock_ahead_ns = 0, clock_uncertainty_ns = 0;
};

}  // namespace lanescope
