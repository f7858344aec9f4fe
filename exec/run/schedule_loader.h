// SPDX-License-Identifier: Apache-2.0
// Loads what a schedule's commands need before they run: kernels, the session's variables, constants in
// the memory of their devices.
#pragma once

#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "core/machine/machine.h"
#include "core/schedule/schedule.h"
#include "exec/run/command_roles.h"
#include "exec/run/loaded_command.h"

namespace lanescope::exec {

// The constants of a schedule, copied to their devices. Owns that memory; the devices must outlive it.
class ConstantMemory {
 public:
  ConstantMemory(const Schedule& schedule, const IdVector<DeviceId, std::unique_ptr<Device>>& devices);
  // Null if the value is no constant of its own.
  void* At(ValueId value) const { return addresses_[value]; }

 private:
  struct FreeOnDevice {
    Device* device;
    void operator()(void* memory) const { device->Free(memory); }
  };
  IdVector<ValueId, void*> addresses_;
  std::vector<std::unique_ptr<void, FreeOnDevice>> blocks_;
};

// The schedule's commands, without the memory of their operands. Adds the variables that the session does not
// have yet. Throws Unimplemented listing all ops that lack a kernel, with their counts, InvalidArgument for a
// value whose size nobody knows.
IdVector<CommandId, LoadedCommand> LoadCommands(const Graph& graph, const Machine& machine,
                                                const Schedule& schedule, const CommandRoles& roles,
                                                const IdVector<DeviceId, std::unique_ptr<Device>>& devices,
                                                SessionState* state);

}  // namespace lanescope::exec
