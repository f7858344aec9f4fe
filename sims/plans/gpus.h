// SPDX-License-Identifier: Apache-2.0
// The GPUs whose kernels are known: facts of their data sheets and the laws fitted to measured kernels.
#pragma once

#include <span>
#include <string_view>

#include "sims/plans/kernels.h"

namespace lanescope::sims::plans {

struct PlanGpu {
  std::string_view name;        // as tables of measured kernels have it: "H100-SXM"
  double memory_bytes = 0;      // that a program can have
  double link_bytes_per_s = 0;  // NVLink, each way
  double nic_bytes_per_s = 0;   // of the network port that usually stands beside it
  double island = 8;            // GPUs that NVLink joins
  KernelLaws kernels;
};

std::span<const PlanGpu> PlanGpus();
// Throws NotFound with the nearest name.
const PlanGpu& FindPlanGpu(std::string_view name);

}  // namespace lanescope::sims::plans
