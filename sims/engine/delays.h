// SPDX-License-Identifier: Apache-2.0
// The time between commands that no command accounts for, as the simulator takes it. Effects fill it in
// (sims/effects/effect.h).
#pragma once

#include <array>
#include <cstdint>

#include "core/machine/machine.h"
#include "core/schedule/schedule.h"

namespace lanescope::sims {

// The classes of queues that delays tell apart. Messages are the copies from one task to another. A stream is
// a queue of a GPU of hardware, a driver the thread that issues its commands; the others are of threads that
// run theirs themselves.
enum class QueueClass : uint8_t { kCompute, kCopy, kMessage, kStream, kDriver };
inline constexpr int kNumQueueClasses = 5;
inline constexpr int kNumThreadClasses = 3;  // the first of them

// The class of a queue of `device`. A host copies to other hosts only.
inline QueueClass QueueClassOf(QueueKind kind, const DeviceSpec& device) {
  if (device.is_hardware() && device.in_order) return QueueClass::kStream;
  if (kind == QueueKind::kCompute) return QueueClass::kCompute;
  return device.is_gpu() ? QueueClass::kCopy : QueueClass::kMessage;
}

// Times of the thread that issues a device's streams, in ns. `segment_ns`: until a recorded segment
// begins; `recorded_ns`: for each of its launches and copies to reach the device. `feed_byte_ns`: to bring a
// byte of the caller's tensor to where the device can read it.
struct StreamIssueTimes {
  int64_t single_ns = 0;
  int64_t segment_ns = 0;
  int64_t recorded_ns = 0;
  double feed_byte_ns = 0;
};

// All in ns. A command starts at the later of
//   end of the queue's previous command + gap(device kind, class of queue), and
//   for each dependency on another queue: its end + handoff(its queue's class, this one's), or + signal
//   where the one runs in other tasks than the other, so that a message without content tells of it.
// The step begins `step_start` before its first commands may start, and ends
// `step_finish` after its last command. Drivers sleep between steps: one that is woken by its queue's first
// ready command picks `wake` later, for it is not awake at once when the cores that wake it are busy.
// Each task has one thread that moves its messages, the progress thread: a message keeps it busy for
// `message_overhead` where it is sent and again where it is received, there with `message_byte` for each byte
// on top (LogGP's o, and what a copy adds; Alexandrov et al. 1995). Both are part of what a message takes, at
// its beginning and at its end, and wait for each other and for a core.
struct Delays {
  int64_t step_start_ns = 0;
  int64_t step_finish_ns = 0;
  std::array<std::array<int64_t, kNumQueueClasses>, kNumDeviceKinds> gap_ns{};       // [DeviceKind][class]
  std::array<std::array<int64_t, kNumQueueClasses>, kNumQueueClasses> handoff_ns{};  // [from class][to class]
  int64_t signal_ns = 0;
  int64_t message_overhead_ns = 0;
  double message_byte_ns = 0;
  std::array<std::array<int64_t, kNumQueueClasses>, kNumDeviceKinds> wake_ns{};  // [DeviceKind][class]

  int64_t gap(DeviceKind device, QueueClass of) const {
    return gap_ns[static_cast<size_t>(device)][static_cast<size_t>(of)];
  }
  int64_t wake(DeviceKind device, QueueClass of) const {
    return wake_ns[static_cast<size_t>(device)][static_cast<size_t>(of)];
  }
  int64_t handoff(QueueClass from, QueueClass to) const {
    return handoff_ns[static_cast<size_t>(from)][static_cast<size_t>(to)];
  }
};

}  // namespace lanescope::sims
