#include "study/this_machine.h"

#include <sched.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/machine/cluster_tasks.h"
#include "core/machine/device_config.h"
#include "exec/gpu_machine.h"

namespace lanescope::study {
namespace {

// The GPUs of it that were chosen, in every task.
Machine Chosen(const Machine& machine, const MachineChoice& choice) {
  DeviceConfig config;
  config.visible_device_list = choice.visible_devices;
  if (!choice.logical_devices.empty()) config.logical_devices = ParseLogicalDevices(choice.logical_devices);
  const bool any = !choice.visible_devices.empty() || !choice.logical_devices.empty();
  Machine chosen = any ? ConfigureDevices(machine, config) : machine;
  return choice.cluster.empty() ? chosen : MachineOfTasks(chosen, ParseClusterTasks(choice.cluster));
}

}  // namespace

int NumProcessors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

Machine LoadPhysicalMachine(const MachineChoice& choice, const Notes& note) {
  exec::GpuMemoryOptions memory;
  memory.fraction = choice.memory_fraction;
  if (!choice.memory_limit.empty()) memory.limit_bytes = ParseBytes(choice.memory_limit);
  std::vector<std::string> notes;
  Machine machine = exec::DetectGpus(memory, &notes);
  for (const std::string& each : notes) Tell(note, "note: " + each);
  if (machine.Gpus().empty())
    Throw(Code::kFailedPrecondition, "no physical GPU can be used: all are left out");
  return Chosen(machine, choice);
}

Machine LoadMachine(const MachineChoice& choice, const Notes& note) {
  if (choice.file == MachineChoice::kPhysical) return LoadPhysicalMachine(choice, note);
  std::string reason;
  if (choice.file.empty() && exec::CountVisibleGpus(&reason) >= 2 && exec::LoadGpuBackend(&reason))
    return LoadPhysicalMachine(choice, note);
  if (choice.memory_fraction > 0 || !choice.memory_limit.empty()) {
    Throw(Code::kInvalidArgument,
          "a memory fraction or limit is for the GPUs found here; a machine file says each device's memory");
  }
  if (!choice.file.empty()) return Chosen(ReadMachine(choice.file), choice);
  return Chosen(VirtualMachine(2, std::max(1, NumProcessors() / 2)), choice);
}

bool IsEmulated(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.kind == DeviceKind::kVirtual; });
}

}  // namespace lanescope::study
