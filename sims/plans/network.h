// SPDX-License-Identifier: Apache-2.0
// How long collectives of a plan take, by the laws of core/machine.
#pragma once

#include "core/base/dtype.h"
#include "core/machine/cluster.h"

namespace lanescope::sims::plans {

// Ranks that work together: `size` of them, `stride` GPUs apart.
struct Group {
  int size = 1, stride = 1;
};

// `bytes` is the whole tensor: what everybody has after a gather or before a scatter.
double GatherSeconds(const Cluster& cluster, const Group& group, double bytes);
// The sum of the ranks' tensors, each rank a part.
double ScatterSeconds(const Cluster& cluster, const Group& group, double bytes, DataType dtype);
double AllReduceSeconds(const Cluster& cluster, const Group& group, double bytes);
// `bytes` is what one GPU sends to all, its own part included.
double AllToAllSeconds(const Cluster& cluster, const Group& group, double bytes);
// From a GPU to one `stride` away.
double MessageSeconds(const Cluster& cluster, int stride, double bytes);

}  // namespace lanescope::sims::plans
