// SPDX-License-Identifier: Apache-2.0
// The machine that a study is about: a file, the GPUs found here, or virtual GPUs that share the cores.
#pragma once

#include <string>
#include <string_view>

#include "core/machine/machine.h"
#include "exec/messages/transport.h"
#include "study/base/notes.h"

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
  // Without a file: how many GPUs found here count; where there are fewer, two virtual ones do.
  int fewest_gpus = 2;
  // The GPUs found here, however few.
  static constexpr std::string_view kPhysical = "physical";
};

// The file, or this machine: its GPUs if there are enough, else CPU:0 and two virtual GPUs that share its
// cores. Where `choice` says tasks and no file, each has what its own computer has, and those of one computer
// share its GPUs out; of the processes of a job (`ranks`, null: this one is alone) each says what it sees,
// and all get the same machine: they call it together. Throws what ReadMachine, ParseClusterTasks and
// MachineOfTasks throw; FailedPrecondition without a GPU that was asked for, saying why, and for fewer GPUs
// of a computer than it has tasks.
Machine LoadMachine(const MachineChoice& choice, const Notes& note = nullptr,
                    exec::Transport* ranks = nullptr);

// The name of this computer.
std::string HostName();
// Two processes for which it is the same, and not empty, read one clock (NowNs): those of one running kernel,
// unless a time namespace gives one of them another. Empty: not known.
std::string ClockName();

// Host threads play some of its devices, so that microbenchmarks of this computer are about it.
bool IsEmulated(const Machine& machine);

}  // namespace lanescope::study
