// SPDX-License-Identifier: Apache-2.0
// Collectives of GPUs whose machines were measured: laws by NVLink generation within a node
// (collectives.tsv), and NCCL's own model, with corrections that were fitted to H100s, between nodes.
// Internal to core.
#pragma once

#include <optional>

#include "core/machine/collective.h"
#include "core/machine/collective_layout.h"

namespace lanescope {

// None where the cluster names no fabric, or one of which nothing was measured.
std::optional<CollectiveEstimate> EstimateByLaw(const Cluster& cluster, const Collective& collective,
                                                const Layout& layout);

}  // namespace lanescope
