// SPDX-License-Identifier: Apache-2.0
// How many commands of a queue run at once in virtual time. Internal to core and sims.
#pragma once

#include <algorithm>

#include "core/machine/device_queues.h"

namespace lanescope {

// Any number of messages between tasks is under way, where each task is a process; up to this many are
// followed.
inline constexpr int kMostMessages = 64;

// `workers`: of the queue. One alone, as where a process is simulated by itself, stays one.
inline int QueueServers(const DeviceSpec& device, QueueKind kind, int workers) {
  const bool messages = kind != QueueKind::kCompute && !device.is_gpu();
  return messages && workers > 1 ? std::max(workers, kMostMessages) : std::max(1, workers);
}

}  // namespace lanescope
