// SPDX-License-Identifier: Apache-2.0
// Facts of GPUs by their names: one table with its sources (gpus.tsv) for machines and cost laws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/machine/machine.h"

namespace lanescope {

struct GpuFacts {
  std::string name;           // "H100-SXM"
  std::string short_name;     // "h100": in names of machines
  DeviceSpec device;          // of kind modelled: memory, rates, multiprocessors
  double float4_flops = 0;    // per second; 0: has none
  double link_bandwidth = 0;  // bytes per second by NVLink to other GPUs, each way; 0: has none
  double pcie_bandwidth = 0;  // bytes per second to the host, each way
  std::string law;            // the GPU whose measured collectives it follows (collectives.tsv); empty: none
  bool sums_in_switch = false;  // NVLS: from Hopper on
  std::string source;
};

// Sorted as in the table.
const std::vector<GpuFacts>& KnownGpus();
// By name or short name; null where there is no such GPU.
const GpuFacts* FindGpu(std::string_view name);
std::string GpuNames();  // "V100-SXM, A100-SXM-40GB, ..."

}  // namespace lanescope
