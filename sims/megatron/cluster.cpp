// SPDX-License-Identifier: Apache-2.0
#include "sims/megatron/cluster.h"

#include <algorithm>
#include <cmath>

namespace lanescope::sims::megatron {
namespace {

double InNode(const Cluster& c, double bytes, double size) {
  const double passed = 2 * (size - 1) / size * bytes;
  const double rate = c.ring_bytes_per_s + c.ring_bytes_per_s_per_gpu * size;
  return std::max(c.small_s + c.small_s_per_gpu * size, c.ring_s + c.ring_s_per_gpu * size + passed / rate);
}

}  // namespace

double AllReduceSeconds(const Cluster& c, double bytes, const Ring& ring) {
  if (ring.size <= 1) return 0;
  const double inside = InNode(c, bytes, std::min(ring.size, c.gpus_per_node));
  if (ring.size <= ring.per_node) return inside;
  const double passed = 2 * (ring.size - 1) / ring.size * bytes;
  const double rate = c.network_bytes_per_s * c.network_share / ring.rings_per_node;
  return std::max(inside, c.network_s * std::log2(ring.size) + passed / rate);
}

double MessageSeconds(const Cluster& c, double bytes, bool across_nodes) {
  if (!across_nodes) return c.message_s + bytes / c.message_bytes_per_s;
  return c.network_s + bytes * c.gpus_per_node / (c.network_bytes_per_s * c.network_share);
}

}  // namespace lanescope::sims::megatron
