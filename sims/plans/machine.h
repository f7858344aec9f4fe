// SPDX-License-Identifier: Apache-2.0
// Machines that plans run on: GPUs by their laws and the network that joins them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sims/plans/kernels.h"
#include "sims/plans/network.h"

namespace lanescope::sims::plans {

struct PlanMachine {
  std::string name;
  double gpus = 8;
  double memory_bytes = 80e9;
  KernelLaws kernels;
  Network network;
  double collective_share =
      0.3;  // of the work beside it that a collective costs: multiprocessors and memory traffic
};

// "dgx-h100:64": 64 GPUs of such nodes. Throws NotFound with the nearest name.
PlanMachine NamedMachine(std::string_view name);
// GPUs by the name that tables of measured kernels have: "H100-SXM", "B200-SXM", "A100-SXM-80GB", ...
PlanMachine MachineOf(std::string_view gpu, double gpus);
std::vector<std::string_view> PlanMachineNames();

}  // namespace lanescope::sims::plans
