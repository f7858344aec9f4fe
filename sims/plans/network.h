// SPDX-License-Identifier: Apache-2.0
// How long collectives take between GPUs of nodes that a network joins.
#pragma once

namespace lanescope::sims::plans {

struct Network {
  double island = 8;            // GPUs that NVLink joins
  double link_bytes_per_s = 0;  // of a GPU within its island, each way
  double nic_bytes_per_s = 0;   // of a GPU's share of its node's ports
  double link_share = 0.8;      // of the bandwidth that large collectives reach
  double nic_share = 0.88;
  double start_s = 12e-6, hop_s = 1e-6, nic_hop_s = 4e-6;
};

// Ranks that work together: `size` of them, `stride` GPUs apart.
struct Group {
  double size = 1, stride = 1;
};

// `bytes` is the whole tensor: what everybody has after a gather or before a scatter.
double GatherSeconds(const Network& network, const Group& group, double bytes);
double AllReduceSeconds(const Network& network, const Group& group, double bytes);
// `bytes` is what one GPU sends to all, its own part included.
double AllToAllSeconds(const Network& network, const Group& group, double bytes);
// From a GPU to one `stride` away.
double MessageSeconds(const Network& network, double stride, double bytes);

}  // namespace lanescope::sims::plans
