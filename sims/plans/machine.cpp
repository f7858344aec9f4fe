// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/machine.h"

#include "core/machine/named_cluster.h"
#include "sims/plans/gpus.h"

namespace lanescope::sims::plans {

PlanMachine NamedMachine(std::string_view name) {
  const NamedCluster named = ClusterOf(name);
  return {.name = std::string(name),
          .cluster = named.cluster,
          .memory_bytes = static_cast<double>(named.gpu->device.memory_bytes),
          .kernels = KernelLawsOf(*named.gpu)};
}

}  // namespace lanescope::sims::plans
