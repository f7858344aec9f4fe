// SPDX-License-Identifier: Apache-2.0
#include "core/machine/collective_layout.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace lanescope {
namespace {

// The share of a GPU's link to its switch, and of a network port, that collectives reach (an A100's 12 links
// of 25 GB/s carry 235 GB/s in all; HDR InfiniBand of 25 GB/s carries 24).
constexpr double kSwitchShare = 235.0 / 300;
constexpr double kNicShare = 0.96;

// NCCL's latencies were measured on a network whose ports and switches take so long.
constexpr double kPortNs = 3'000, kSwitchNs = 300;

// How nodes of the group lie under the leaf switches.
struct Leaves {
  double nodes = 1;    // that a leaf joins
  double members = 1;  // of them in the group
  double apart = 1;    // nodes from one member to the next
  bool one = true;     // has the whole group
};

Leaves LeavesOf(const Cluster& cluster, const RankGroup& group, double nodes) {
  Leaves leaves;
  const int last = group.first + (group.count - 1) * group.stride;
  const double spanned = cluster.NodeOf(last) - cluster.NodeOf(group.first);
  leaves.nodes = cluster.NodesOfLeaf();
  leaves.apart = nodes > 1 ? std::max(1.0, spanned / (nodes - 1)) : 1;
  leaves.members = std::clamp(leaves.nodes / leaves.apart, 1.0, nodes);
  leaves.one =
      cluster.NodeOf(group.first) / cluster.NodesOfLeaf() == cluster.NodeOf(last) / cluster.NodesOfLeaf();
  return leaves;
}

// The share of a node's ports that a ring has. A leaf's way up carries that of all its nodes over the
// oversubscription. Around a ring one node of a group sends through it, and one of each of the groups that
// lie between.
double RingShare(const Cluster& cluster, const Leaves& leaves) {
  if (leaves.one) return 1;
  const double sending = std::min(leaves.apart, leaves.nodes);
  return std::min(1.0, leaves.nodes / cluster.oversubscription / sending);
}

// From every node to every other all nodes of a leaf send through it, but for what stays under the leaf.
double AllToAllShare(const Cluster& cluster, const Leaves& leaves, double nodes) {
  if (leaves.one) return 1;
  const double leaving = (nodes - leaves.members) / (nodes - 1);
  return std::min(1.0, 1 / (cluster.oversubscription * leaving));
}

// A hop's delay between neighbours of a ring, on average, beyond the network that NCCL's constants are of.
double LateUs(const Cluster& cluster, const RankGroup& group, const Leaves& leaves) {
  const int last = group.first + (group.count - 1) * group.stride;
  const double crossing = leaves.one ? 0 : std::min(1.0, leaves.apart / leaves.nodes);
  const double switches = 1 + crossing * (cluster.SwitchesBetween(group.first, last) - 1);
  // The formulas without a fabric were calibrated with the switches that there are.
  const double known = cluster.fabric.empty() ? switches : 1;
  return (static_cast<double>(cluster.nic_latency_ns) - kPortNs +
          static_cast<double>(cluster.hop_latency_ns) * switches - kSwitchNs * known) *
         1e-3;
}

}  // namespace

Layout LayoutOf(const Cluster& cluster, const RankGroup& group) {
  const int64_t last = group.first + int64_t{group.count - 1} * group.stride;
  if (group.first < 0 || group.count < 1 || group.stride < 1 || last >= cluster.num_gpus()) {
    Throw(Code::kInvalidArgument,
          "a collective of {} GPUs from GPU:{} on, {} apart, does not fit a cluster of {}", group.count,
          group.first, group.stride, cluster.num_gpus());
  }
  Layout layout;
  layout.ranks = group.count;
  const int spanned = cluster.NodeOf(static_cast<int>(last)) - cluster.NodeOf(group.first) + 1;
  layout.nodes = std::min(spanned, group.count);  // none is left out, or each rank has its own
  layout.in_node = cluster.switch_bandwidth * kSwitchShare;
  if (layout.nodes <= 1) return layout;
  const double share = std::min(1.0, std::ceil(layout.per_node()) / cluster.gpus_per_node);
  const double ports = cluster.nic_bandwidth * kNicShare * cluster.nics_per_node * share;
  const Leaves leaves = LeavesOf(cluster, group, layout.nodes);
  layout.narrowing = RingShare(cluster, leaves);
  layout.network = ports * layout.narrowing;
  layout.all_to_all_network = ports * AllToAllShare(cluster, leaves, layout.nodes);
  layout.late_us = LateUs(cluster, group, leaves);
  return layout;
}

}  // namespace lanescope
