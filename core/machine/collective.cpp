// SPDX-License-Identifier: Apache-2.0
// The model by which NCCL chooses (NVIDIA/nccl, src/graph/tuning.cc, 2.10): a latency of so much a step and a
// bandwidth, for each algorithm and each of three protocols; its constants are facts of that library.

#include "core/machine/collective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/size_table.h"
#include "core/machine/collective_law.h"
#include "core/machine/collective_layout.h"

namespace lanescope {
namespace {

constexpr std::array<std::string_view, 5> kKindNames{"all-reduce", "all-gather", "reduce-scatter",
                                                     "broadcast", "all-to-all"};
constexpr std::array<std::string_view, 4> kAlgorithmNames{"nccl", "ring", "tree", "hierarchical"};

template <typename T, size_t n>
std::optional<T> ParseName(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<T>(found - names.begin());
}

// Latencies in us; shares of the bandwidth that bytes flow at.
struct Protocol {
  double ring_base, ring_in_node, ring_network, ring_share;
  double tree_base, tree_in_node, tree_network, tree_share;
  double tree_most, tree_most_far;  // of a node's bandwidth: up to two nodes, beyond
};
constexpr std::array<Protocol, 3> kProtocols{{
    {3.6, 0.47, 2.7, 0.25, 4.4, 0.52, 5.0, 0.9 / 3.8, 0.47 / 3.8, 0.34 / 3.8},  // LL: flags with the data
    {10.0, 1.9, 4.0, 0.92, 4.4, 1.2, 8.5, 0.9 * 0.915, 0.55, 0.45},             // LL128
    {8.4, 3.4, 9.6, 1, 0, 28, 50, 0.9, 0.47, 0.34},                             // Simple
}};

// Steps of a ring in which something moves, and how often each rank's bytes pass a link.
double StepsOf(CollectiveKind kind, double ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (ranks - 1);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return ranks - 1;
    case CollectiveKind::kBroadcast:
      return ranks;
  }
  return ranks;
}

double BandwidthOf(const Layout& layout) {
  return layout.nodes > 1 ? std::min(layout.in_node, layout.network) : layout.in_node;
}

double RingSeconds(const Layout& layout, CollectiveKind kind, double bytes) {
  if (layout.ranks <= 1) return 0;
  const double steps = StepsOf(kind, layout.ranks);
  const double across = layout.nodes > 1 ? StepsOf(kind, layout.nodes) : 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (const Protocol& protocol : kProtocols) {
    const double us = protocol.ring_base + (steps - across) * protocol.ring_in_node +
                      across * (protocol.ring_network + layout.late_us);
    const double passed = bytes * steps / layout.ranks;
    fastest = std::min(fastest, us * 1e-6 + passed / (BandwidthOf(layout) * protocol.ring_share));
  }
  return fastest;
}

double TreeSeconds(const Layout& layout, double bytes) {
  if (layout.ranks <= 1) return 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (const Protocol& protocol : kProtocols) {
    const double us =
        protocol.tree_base + 2 * ((layout.per_node() - 1) * protocol.tree_in_node +
                                  std::log2(layout.nodes) * (protocol.tree_network + layout.late_us));
    const double most = layout.in_node * (layout.nodes > 2 ? protocol.tree_most_far : protocol.tree_most);
    const double rate = std::min(BandwidthOf(layout) * protocol.tree_share, most);
    fastest = std::min(fastest, us * 1e-6 + 2 * bytes / rate);
  }
  return fastest;
}

double NcclSeconds(const Layout& layout, CollectiveKind kind, double bytes) {
  const double ring = RingSeconds(layout, kind, bytes);
  return kind == CollectiveKind::kAllReduce ? std::min(ring, TreeSeconds(layout, bytes)) : ring;
}

// Each GPU of a node reduces its part of the bytes with those of equal place in other nodes.
double HierarchicalSeconds(const Layout& layout, double bytes) {
  Layout node = layout, across = layout;
  node.ranks = layout.per_node();
  node.nodes = 1;
  across.ranks = layout.nodes;
  across.network = layout.network / layout.per_node();
  return RingSeconds(node, CollectiveKind::kReduceScatter, bytes) +
         NcclSeconds(across, CollectiveKind::kAllReduce, bytes / layout.per_node()) +
         RingSeconds(node, CollectiveKind::kAllGather, bytes);
}

}  // namespace

std::string_view CollectiveKindName(CollectiveKind kind) { return kKindNames[static_cast<size_t>(kind)]; }
std::optional<CollectiveKind> ParseCollectiveKind(std::string_view name) {
  return ParseName<CollectiveKind>(kKindNames, name);
}
std::string_view CollectiveAlgorithmName(CollectiveAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<size_t>(algorithm)];
}
std::optional<CollectiveAlgorithm> ParseCollectiveAlgorithm(std::string_view name) {
  return ParseName<CollectiveAlgorithm>(kAlgorithmNames, name);
}

CollectiveEstimate EstimateCollective(const Cluster& cluster, const Collective& collective) {
  const Layout layout = LayoutOf(cluster, collective.ranks);
  const bool reduces = collective.kind == CollectiveKind::kAllReduce;
  if (!reduces && (collective.algorithm == CollectiveAlgorithm::kTree ||
                   collective.algorithm == CollectiveAlgorithm::kHierarchical)) {
    Throw(Code::kInvalidArgument, "{}: only an all-reduce takes the algorithm {}",
          CollectiveKindName(collective.kind), CollectiveAlgorithmName(collective.algorithm));
  }
  if (layout.ranks <= 1) return {};
  const auto bytes = static_cast<double>(collective.bytes);
  if (layout.nodes == 1) {
    for (const MeasuredCollective& measured : cluster.collectives) {
      if (measured.gpus != collective.ranks.count || measured.kind != CollectiveKindName(collective.kind))
        continue;
      return {InterpolateNs(measured.table, 1e9 / layout.in_node, collective.bytes)};
    }
  }
  if (collective.algorithm == CollectiveAlgorithm::kNccl) {
    if (const auto estimate = EstimateByLaw(cluster, collective, layout)) return *estimate;
  }
  double seconds = 0;
  switch (collective.algorithm) {
    case CollectiveAlgorithm::kNccl:
      seconds = NcclSeconds(layout, collective.kind, bytes);
      break;
    case CollectiveAlgorithm::kRing:
      seconds = RingSeconds(layout, collective.kind, bytes);
      break;
    case CollectiveAlgorithm::kTree:
      seconds = TreeSeconds(layout, bytes);
      break;
    case CollectiveAlgorithm::kHierarchical:
      seconds = HierarchicalSeconds(layout, bytes);
      break;
  }
  return {std::min(seconds, 1e9) * 1e9};
}

int64_t CollectiveNs(const Cluster& cluster, const Collective& collective) {
  return std::llround(EstimateCollective(cluster, collective).ns);
}

}  // namespace lanescope
