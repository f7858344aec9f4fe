// SPDX-License-Identifier: Apache-2.0
#include "core/machine/device_queues.h"

#include <algorithm>

#include "core/machine/tasks.h"

namespace lanescope {
namespace {

bool IsNetworkPort(const DeviceSpec& device, QueueKind kind) {
  return kind != QueueKind::kCompute && !device.is_gpu();
}

DeviceQueue CopiesOut(const Machine& machine, DeviceId device) {
  return {device, machine.device(device).copy_engines < 2 ? QueueKind::kCopyIn : QueueKind::kCopyOut};
}

}  // namespace

std::string_view QueueKindName(QueueKind kind) {
  switch (kind) {
    case QueueKind::kCompute:
      return "compute";
    case QueueKind::kCopyIn:
      return "copy-in";
    case QueueKind::kCopyOut:
      return "copy-out";
  }
  return "compute";
}

DeviceQueue CopyQueueOf(const Machine& machine, const MachineTasks& tasks, DeviceId src, DeviceId dst) {
  if (src == dst) return {dst, QueueKind::kCompute};
  if (!tasks.SameTask(src, dst)) return CopiesOut(machine, tasks.host_of[src]);
  if (machine.device(src).is_gpu()) return CopiesOut(machine, src);
  return {dst, machine.device(dst).is_gpu() ? QueueKind::kCopyIn : QueueKind::kCompute};
}

int LaunchWorkers(const DeviceSpec& device) {
  return IsOfHostThreads(device.kind) ? std::max(1, device.workers) : 1;
}

bool IsInOrder(const DeviceSpec& device, QueueKind kind) {
  return device.in_order && !IsNetworkPort(device, kind);
}

int QueueWorkers(const DeviceSpec& device, QueueKind kind) {
  if (IsNetworkPort(device, kind)) return kMessagesAtOnce;
  return kind == QueueKind::kCompute && !device.in_order ? LaunchWorkers(device) : 1;
}

}  // namespace lanescope
