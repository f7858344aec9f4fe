// SPDX-License-Identifier: Apache-2.0
// Where the GPUs of a collective are, and what the network leaves them.
// Internal to core.
#pragma once

#include "core/machine/collective.h"

namespace lanescope {

struct Layout {
  double ranks = 1, nodes = 1;
  double in_node = 0, network = 0;  // bytes per second of a ring within nodes, and through one node's ports
  double all_to_all_network = 0;    // the same where every node sends to every other
  double narrowing = 1;             // the share of its ports that the network leaves a ring
  double late_us = 0;               // of a hop of the network, beyond what the formulas' constants have

  double per_node() const { return ranks / nodes; }
};

// Throws InvalidArgument for GPUs that the cluster does not have.
Layout LayoutOf(const Cluster& cluster, const RankGroup& group);

}  // namespace lanescope
