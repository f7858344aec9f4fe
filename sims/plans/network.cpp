// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/network.h"

#include <algorithm>
#include <cmath>

namespace lanescope::sims::plans {
namespace {

double InIsland(const Network& net, const Group& group) {
  return std::clamp(std::floor(net.island / group.stride), 1.0, group.size);
}

}  // namespace

double GatherSeconds(const Network& net, const Group& group, double bytes) {
  if (group.size <= 1) return 0;
  const double inside = InIsland(net, group);
  const double passed = bytes * (group.size - 1) / group.size;
  const double link = net.link_bytes_per_s * net.link_share;
  if (inside >= group.size) return net.start_s + net.hop_s * group.size + passed / link;
  // A ring enters and leaves every island once for each of its members there.
  const double rate = std::min(link, net.nic_bytes_per_s * net.nic_share * inside);
  const double islands = std::ceil(group.size / inside);
  return net.start_s + net.nic_hop_s * islands + net.hop_s * group.size + passed / rate;
}

double AllReduceSeconds(const Network& net, const Group& group, double bytes) {
  return 2 * GatherSeconds(net, group, bytes);
}

double AllToAllSeconds(const Network& net, const Group& group, double bytes) {
  if (group.size <= 1) return 0;
  const double inside = InIsland(net, group);
  const double link = bytes * (inside - 1) / group.size / (net.link_bytes_per_s * net.link_share);
  const double nic = bytes * (group.size - inside) / group.size / (net.nic_bytes_per_s * net.nic_share);
  return net.start_s + (nic > 0 ? net.nic_hop_s : 0) + net.hop_s * group.size + std::max(link, nic);
}

double MessageSeconds(const Network& net, double stride, double bytes) {
  if (stride < net.island) return net.start_s + bytes / (net.link_bytes_per_s * net.link_share);
  return net.start_s + net.nic_hop_s + bytes / (net.nic_bytes_per_s * net.nic_share);
}

}  // namespace lanescope::sims::plans
