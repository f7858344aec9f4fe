// SPDX-License-Identifier: Apache-2.0
// Queues of a device, and the one that a copy takes. Compiling, list schedules, the search and the choice of
// collectives ask here.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "core/machine/machine.h"

namespace lanescope {

struct MachineTasks;

enum class QueueKind : uint8_t { kCompute, kCopyIn, kCopyOut };
std::string_view QueueKindName(QueueKind kind);  // "compute", "copy-in", "copy-out"

// A queue of a device, by what it is for.
struct DeviceQueue {
  DeviceId device;
  QueueKind kind = QueueKind::kCompute;
  friend bool operator==(const DeviceQueue&, const DeviceQueue&) = default;
  friend auto operator<=>(const DeviceQueue&, const DeviceQueue&) = default;
};

// The queue of a copy between two devices. Within a task: out of a GPU the source's engine drives it, as CUDA
// does for peer copies; into a GPU from the host the destination's; between devices of host threads a worker
// of the destination. Between tasks it goes through the network port of the source's host. A device with one
// copy engine has one queue for both directions, kCopyIn.
DeviceQueue CopyQueueOf(const Machine& machine, const MachineTasks& tasks, DeviceId src, DeviceId dst);

// Threads of the host that run a device's launches.
int LaunchWorkers(const DeviceSpec& device);
// Messages that a host has under way to other tasks: they share its links, and none waits behind one whose
// receiver is not ready.
inline constexpr int kMessagesAtOnce = 4;
// Whether a queue's commands run in the order in which they were issued.
bool IsInOrder(const DeviceSpec& device, QueueKind kind);
// How many commands of a queue run at once.
int QueueWorkers(const DeviceSpec& device, QueueKind kind);

}  // namespace lanescope
