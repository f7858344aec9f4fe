// SPDX-License-Identifier: Apache-2.0
// Memory-constrained Earliest Task First: Jeon, Cai, Srivastava, Jiang, Ke, Meng, Xie and Gupta, "Baechi:
// Fast Device Placement of Machine Learning Graphs", SoCC 2020, after Hwang, Chow, Anger and Lee, "Scheduling
// Precedence Graphs in Systems with Interprocessor Communication Times", SIAM J. Computing 18(2), 1989.
#include "core/strategies/earliest_start.h"

namespace lanescope {

Placement PlaceMEtf(const StrategyInput& input) {
  const TaskGraph tasks(input);
  return PlaceByEarliestStart(input, tasks, std::vector<int>(static_cast<size_t>(tasks.num_tasks()), -1));
}

}  // namespace lanescope
