// The machine that a study is about: a file, the GPUs found here, or virtual GPUs that share the cores.
#pragma once

#include <string>
#include <string_view>

#include "core/machine/machine.h"
#include "study/notes.h"

namespace lanescope::study {

struct MachineChoice {
  std::string file;  // or kPhysical, or empty
  double memory_fraction = 0;
  std::string memory_limit;
  // Which GPUs of it are seen, and as which parts (core/machine/device_config.h).
  std::string visible_devices;
  std::string logical_devices;
  // Tasks with these devices each (core/machine/cluster_tasks.h); empty: one process has them.
  std::string cluster = {};
  // The GPUs found here, however few.
  static constexpr std::string_view kPhysical = "physical";
};

// The file, or this machine: its GPUs if there are two or more, else CPU:0 and two virtual GPUs that share
// its cores. Throws what ReadMachine, LoadPhysicalMachine, ParseClusterTasks and MachineOfTasks throw.
Machine LoadMachine(const MachineChoice& choice, const Notes& note = nullptr);
// The GPUs found here. Throws FailedPrecondition without any, saying why.
Machine LoadPhysicalMachine(const MachineChoice& choice, const Notes& note = nullptr);

// Processors that this program may use.
int NumProcessors();

// Host threads play some of its devices, so that microbenchmarks of this computer are about it.
bool IsEmulated(const Machine& machine);

}  // namespace lanescope::study
