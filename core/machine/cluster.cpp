// SPDX-License-Identifier: Apache-2.0
#include "core/machine/cluster.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.h"

namespace lanescope {
namespace {

constexpr int kPerGpu = 4;  // resources
enum OfGpu { kSwitchOut, kSwitchIn, kHostOut, kHostIn };

}  // namespace

std::string_view NetworkKindName(NetworkKind kind) {
  return kind == NetworkKind::kFatTree ? "fat-tree" : "rails";
}

int Cluster::NodesOfLeaf() const {
  const int down = std::max(1, radix / 2);
  return network == NetworkKind::kRails ? down : std::max(1, down / nics_per_node);
}

int Cluster::num_leaves() const {
  const int groups = (nodes + NodesOfLeaf() - 1) / NodesOfLeaf();
  return network == NetworkKind::kRails ? groups * nics_per_node : groups;
}

int Cluster::LeafOf(int gpu) const {
  const int group = NodeOf(gpu) / NodesOfLeaf();
  return network == NetworkKind::kRails ? group * nics_per_node + NicOf(gpu) : group;
}

double Cluster::ResourceBandwidth(int resource) const {
  const int gpus = kPerGpu * num_gpus(), nics = 2 * nodes * nics_per_node;
  if (resource < gpus) {
    const int what = resource % kPerGpu;
    return what == kSwitchOut || what == kSwitchIn ? switch_bandwidth : host_bandwidth;
  }
  if (resource < gpus + nics) return nic_bandwidth;
  const int ports = network == NetworkKind::kRails ? NodesOfLeaf() : NodesOfLeaf() * nics_per_node;
  return ports * nic_bandwidth / oversubscription;
}

std::string Cluster::ResourceName(int resource) const {
  LANESCOPE_CHECK(resource >= 0 && resource < num_resources());
  static constexpr const char* kNames[] = {"to its switch", "from its switch", "to the host",
                                           "from the host"};
  if (resource < kPerGpu * num_gpus())
    return fmt::format("GPU:{} {}", resource / kPerGpu, kNames[resource % kPerGpu]);
  resource -= kPerGpu * num_gpus();
  if (resource < 2 * nodes * nics_per_node) {
    const int nic = resource / 2;
    return fmt::format("node {} port {} {}", nic / nics_per_node, nic % nics_per_node,
                       resource % 2 == 0 ? "out" : "in");
  }
  resource -= 2 * nodes * nics_per_node;
  return fmt::format("leaf switch {} {}", resource / 2, resource % 2 == 0 ? "up" : "down");
}

int Cluster::SwitchesBetween(int src_gpu, int dst_gpu) const {
  const int a = LeafOf(src_gpu), b = LeafOf(dst_gpu);
  if (a == b) return 1;
  // A spine switch joins as many leaves as it has ports; beyond that there is a third level.
  return num_leaves() <= radix || a / std::max(1, radix / 2) == b / std::max(1, radix / 2) ? 3 : 5;
}

Cluster::Way Cluster::Between(int src, int dst) const {
  Way way;
  if (NodeOf(src) == NodeOf(dst)) {
    way.resources = {kPerGpu * src + kSwitchOut, kPerGpu * dst + kSwitchIn};
    way.latency_ns = switch_latency_ns;
    return way;
  }
  const int nics = kPerGpu * num_gpus(), leaves = nics + 2 * nodes * nics_per_node;
  way.resources = {nics + 2 * (NodeOf(src) * nics_per_node + NicOf(src)),
                   nics + 2 * (NodeOf(dst) * nics_per_node + NicOf(dst)) + 1};
  if (LeafOf(src) != LeafOf(dst)) {
    way.resources.push_back(leaves + 2 * LeafOf(src));
    way.resources.push_back(leaves + 2 * LeafOf(dst) + 1);
  }
  way.latency_ns = nic_latency_ns + hop_latency_ns * SwitchesBetween(src, dst);
  return way;
}

Cluster::Way Cluster::ToHost(int gpu) const { return {{kPerGpu * gpu + kHostOut}, host_latency_ns}; }
Cluster::Way Cluster::FromHost(int gpu) const { return {{kPerGpu * gpu + kHostIn}, host_latency_ns}; }

}  // namespace lanescope
