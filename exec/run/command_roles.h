// SPDX-License-Identifier: Apache-2.0
// In what way each command of a schedule runs on the devices of a session.
#pragma once

#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"
#include "exec/device/device.h"
#include "exec/stream/stream_program.h"

namespace lanescope::exec {

// Refers to what it is made of. Immutable.
class CommandRoles {
 public:
  CommandRoles(const Graph& graph, const Schedule& schedule,
               const IdVector<DeviceId, std::unique_ptr<Device>>& devices, const Machine& machine)
      : graph_(graph), schedule_(schedule), devices_(devices), machine_(machine) {}

  // The device of the command's queue.
  Device& QueueDevice(CommandId command) const;
  StreamRole RoleOf(CommandId command) const;
  // The kernels that serve a launch: of its device, or the host's where all operands are in host memory.
  const KernelRegistry& KernelsFor(CommandId command) const;
  // `replayable`: what the kernel says. `dynamic`: some operand's shape is known only at run time.
  StreamCommand StreamCommandOf(CommandId command, bool replayable, bool dynamic) const;

 private:
  bool InHostMemory(ValueId value) const;

  const Graph& graph_;
  const Schedule& schedule_;
  const IdVector<DeviceId, std::unique_ptr<Device>>& devices_;
  const Machine& machine_;
};

}  // namespace lanescope::exec
