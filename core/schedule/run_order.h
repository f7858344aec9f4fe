// SPDX-License-Identifier: Apache-2.0
// In which order the commands of a queue run.
#pragma once

#include "core/schedule/schedule.h"

namespace lanescope {

// Whether they run strictly by rank: those of an in-order queue, and of a schedule's only queue where it has
// one worker, since whatever has a smaller rank is complete when that takes the next.
inline bool RunsByRank(const IdVector<QueueId, Queue>& queues, QueueId queue) {
  return queues[queue].in_order || (queues.size() == 1 && queues[queue].workers == 1);
}

}  // namespace lanescope
