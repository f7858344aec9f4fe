// SPDX-License-Identifier: Apache-2.0
// Machines that plans run on: GPUs by the laws of their kernels, and the cluster that joins them.
#pragma once

#include <string>
#include <string_view>

#include "core/machine/cluster.h"
#include "sims/plans/kernels.h"

namespace lanescope::sims::plans {

struct PlanMachine {
  std::string name;
  Cluster cluster;
  double memory_bytes = 80e9;
  KernelLaws kernels;
  double collective_share =
      0.3;  // of the work beside it that a collective costs: multiprocessors and memory traffic
  int gpus() const { return cluster.num_gpus(); }
};

// "dgx-h100:64": 64 GPUs of such nodes, by the rules of core/machine/named_cluster.h. Throws InvalidArgument
// naming the part, NotFound for GPUs of which no kernel times are known.
PlanMachine NamedMachine(std::string_view name);

}  // namespace lanescope::sims::plans
