// SPDX-License-Identifier: Apache-2.0
// Clusters by their names, without a list of their devices.
#pragma once

#include <string_view>

#include "core/machine/cluster.h"
#include "core/machine/gpu_facts.h"

namespace lanescope {

struct NamedCluster {
  Cluster cluster;
  const GpuFacts* gpu = nullptr;  // never null
};

// The texts of MakeCluster. Fewer GPUs than a node of nodes.tsv has are a part of one; more are whole nodes.
// Throws InvalidArgument naming the part.
NamedCluster ClusterOf(std::string_view text);
// Nodes that have names of their own ("dgx-h100"); others are named by their GPUs.
std::vector<std::string_view> NodeNames();

}  // namespace lanescope
