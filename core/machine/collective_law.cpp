// SPDX-License-Identifier: Apache-2.0
#include "core/machine/collective_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/fact_table.h"
#include "core/machine/gpu_facts.h"

namespace lanescope {
namespace {

constexpr std::string_view kLawTable =
#if __has_include("collectives_tsv.inc")
#include "collectives_tsv.inc"
#else
    ""
#endif
    ;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargeBytes = 16 << 20;

// A time of us + bytes / rate; rates in bytes per us.
struct Line {
  double us = 0, rate = 1;
};

// The constants among so many GPUs: NCCL's protocols LL, LL128 and Simple.
struct Constants {
  double gpus = 2;
  std::array<Line, 3> protocols;
  double byte_sums = 1;  // sums of elements of one byte pass as so many bytes
  double spread = 0, large_spread = 0;
};

using LawTable = std::map<std::pair<std::string_view, std::string_view>, std::vector<Constants>>;

const LawTable& Laws() {
  static const LawTable laws = [] {
    LawTable table;
    for (const FactRow& row : ReadFactTable(kLawTable)) {
      Constants constants;
      constants.gpus = row.Number("gpus");
      constants.protocols = {{{row.Number("ll_us"), row.Number("ll_rate") * 1e3},
                              {row.Number("ll128_us"), row.Number("ll128_rate") * 1e3},
                              {row.Number("simple_us"), row.Number("simple_rate") * 1e3}}};
      constants.byte_sums = row.Number("byte_sums");
      constants.spread = row.Number("spread");
      constants.large_spread = row.Number("large_spread");
      table[{row["law"], row["kind"]}].push_back(constants);
    }
    return table;
  }();
  return laws;
}

double Between(double a, double b, double t) { return a + (b - a) * t; }

// Straight lines between the counts that were measured. Beyond them a latency grows with every doubling as it
// did with the last, and rates stay.
Constants ConstantsFor(const std::vector<Constants>& law, double gpus) {
  if (gpus <= law.front().gpus) return law.front();
  size_t i = 1;
  while (i + 1 < law.size() && law[i].gpus < gpus) ++i;
  const Constants &low = law[i - 1], &high = law[i];
  const bool beyond = gpus > high.gpus;
  const double t = beyond ? 1 : (gpus - low.gpus) / (high.gpus - low.gpus);
  const double late = beyond ? 1 + std::log2(gpus / high.gpus) : t;
  Constants at = high;
  at.gpus = gpus;
  for (size_t p = 0; p < at.protocols.size(); ++p) {
    const Line &from = low.protocols[p], &to = high.protocols[p];
    at.protocols[p] = {std::max(0.0, Between(from.us, to.us, late)), Between(from.rate, to.rate, t)};
  }
  at.byte_sums = Between(low.byte_sums, high.byte_sums, t);
  return at;
}

// Bytes of a collective that pass each GPU's link, of one byte.
double Passed(CollectiveKind kind, double ranks) {
  if (kind == CollectiveKind::kBroadcast) return 1;
  return (kind == CollectiveKind::kAllReduce ? 2 : 1) * (ranks - 1) / ranks;
}

bool Reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
}

// A broadcast was not measured: its bytes pass every link once, as those of an all-gather do.
const std::vector<Constants>* LawOf(std::string_view law, CollectiveKind kind) {
  const CollectiveKind measured = kind == CollectiveKind::kBroadcast ? CollectiveKind::kAllGather : kind;
  const auto found = Laws().find({law, CollectiveKindName(measured)});
  return found == Laws().end() ? nullptr : &found->second;
}

// The rates of a law are those of its own GPU's links; of others in proportion.
double WireScale(const Cluster& cluster, std::string_view law) {
  const GpuFacts* gpu = FindGpu(law);
  return cluster.switch_bandwidth / (gpu->link_bandwidth > 0 ? gpu->link_bandwidth : gpu->pcie_bandwidth);
}

struct Task {
  CollectiveKind kind;
  double bytes;
  bool sums_bytes;
};

CollectiveEstimate InNode(const std::vector<Constants>& law, double scale, const Task& task, double ranks) {
  const Constants at = ConstantsFor(law, ranks);
  const double bytes = task.bytes * Passed(task.kind, ranks);
  double us = kInfinity;
  for (size_t p = 0; p < at.protocols.size(); ++p) {
    const double share = p > 0 && task.sums_bytes ? at.byte_sums : 1;
    us = std::min(us, at.protocols[p].us + bytes * share / (at.protocols[p].rate * scale));
  }
  return {us * 1e3, task.bytes > kLargeBytes ? at.large_spread : at.spread};
}

// The latencies by which NCCL chooses (NVIDIA/nccl 2.27, src/graph/tuning.cc, BSD-3), in us: of a start, and
// of a hop within a node, between nodes, and between nodes that have one rank each.
struct Hops {
  double base, in_node, network, alone;
};
constexpr std::array<Hops, 3> kRing{{{6.6, 1.0, 2.7, 5.0}, {14, 1.9, 4.0, 8.5}, {8.4, 3.4, 14, 14}}};
constexpr std::array<Hops, 3> kTree{{{6.8, 0.6, 5, 5}, {14, 1.25, 8.5, 8.5}, {8.4, 4, 14, 14}}};
// Each protocol's share of the bandwidth, and the most that it carries: of the network (LL), of a GPU's
// link (LL128, 36.7 GB/s for each of 8 channels of an H100).
constexpr double kLlShare = 0.5, kLlMost = 39e3, kLlMostFar = 20.4e3;
constexpr double kLl128Share = 0.92, kLl128MostOfLink = 293.6 / 450;
// A tree's shares, as NCCL 2.27.5 logs them on H100s: up to two nodes, beyond.
constexpr double kTreeLlMost = 33.2e3, kTreeLlMostFar = 17.4e3;
constexpr double kTreeShare = 1.3, kTreeShareFar = 0.734, kTreeSimpleShare = 1.467,
                 kTreeSimpleShareFar = 0.782;
constexpr double kTreeMostOfLink = 249.6 / 450, kTreeMostOfLinkFar = 197.2 / 450;
constexpr double kTreeSimpleMostOfLink = 281.6 / 450, kTreeSimpleMostOfLinkFar = 244.8 / 450;
// Trees whose nodes sum in their switches: from four GPUs a node on.
constexpr double kNvlsTreeUs = 25, kNvlsTreeHopUs = 14;
constexpr double kNvlsTreeShare = 0.833, kNvlsTreeMostOfLink = 533.3 / 450, kNvlsTreeFill = 350e3;
// Fitted by meta-pytorch/autoparallel (BSD-3, commit a54c252) to nccl-tests on nodes of 8 H100s: what a ring
// waits for each node, and its share of the bandwidth by bytes a rank.
constexpr double kRingNodeUs = 4.7;
constexpr double kRingShare = 0.68, kLargeRingShare = 0.87;
constexpr double kRingShareGrowsFrom = 8 << 20, kRingShareGrowsTo = 32 << 20;
// Their fits of all-to-alls: latency by nodes, the share of the network that few nodes lose, and the bytes a
// rank that half of the bandwidth takes.
constexpr std::array<std::pair<double, double>, 5> kAllToAllUs{
    {{2, 37}, {4, 42}, {8, 60}, {16, 98}, {32, 290}}};
constexpr double kAllToAllLost = 0.44, kAllToAllFill = 200e3;

// The parts of a node's links and ports, in bytes per us.
struct Fabric {
  double link = 0;        // of a GPU
  double in_node = 0;     // that a ring within a node reaches; infinite where a node has one rank
  double network = 0;     // of a node's ports
  double all_to_all = 0;  // the same for all-to-alls
  bool sums_in_switch = false;
  bool whole_nodes = false;
};

double RingShareOf(double bytes_a_rank) {
  const double t =
      std::log2(bytes_a_rank / kRingShareGrowsFrom) / std::log2(kRingShareGrowsTo / kRingShareGrowsFrom);
  return Between(kRingShare, kLargeRingShare, std::clamp(t, 0.0, 1.0));
}

double RingUs(const Fabric& fabric, const Layout& layout, const Task& task) {
  const double times = task.kind == CollectiveKind::kAllReduce ? 2 : 1;
  const double hops = times * (layout.ranks - 1), across = times * (layout.nodes - 1);
  const double waits = kRingNodeUs * layout.nodes * std::pow(std::max(1.0, layout.nodes / 4), 0.65);
  const double share = fabric.whole_nodes ? RingShareOf(task.bytes / layout.ranks) : 1;
  const double bandwidth = std::min(fabric.in_node, fabric.network);
  const std::array<double, 3> rates{std::min(bandwidth * kLlShare, layout.nodes > 2 ? kLlMostFar : kLlMost),
                                    std::min(bandwidth * kLl128Share, fabric.link * kLl128MostOfLink) * share,
                                    bandwidth * share};
  double least = kInfinity;
  for (size_t p = 0; p < kRing.size(); ++p) {
    const Hops& hop = kRing[p];
    const double network_us = (layout.per_node() > 1 ? hop.network : hop.alone) + layout.late_us;
    const double us = hop.base + (hops - across) * hop.in_node + across * network_us + waits;
    least = std::min(least, us + task.bytes * Passed(task.kind, layout.ranks) / rates[p]);
  }
  return least;
}

// A tree's rate through a node's ports; no more than a ring where leaf switches are narrower than those.
double TreeNetwork(const Fabric& fabric, const Layout& layout, double share) {
  const double rate = fabric.network / layout.narrowing * share;
  return layout.narrowing < 1 ? std::min(rate, fabric.network) : rate;
}

double TreeUs(const Fabric& fabric, const Layout& layout, double bytes) {
  const bool far = layout.nodes > 2;
  const double depth = std::floor(std::log2(layout.nodes));
  const std::array<double, 3> rates{
      std::min(TreeNetwork(fabric, layout, kLlShare), far ? kTreeLlMostFar : kTreeLlMost),
      std::min(TreeNetwork(fabric, layout, far ? kTreeShareFar : kTreeShare),
               fabric.link * (far ? kTreeMostOfLinkFar : kTreeMostOfLink)),
      std::min(TreeNetwork(fabric, layout, far ? kTreeSimpleShareFar : kTreeSimpleShare),
               fabric.link * (far ? kTreeSimpleMostOfLinkFar : kTreeSimpleMostOfLink))};
  double least = kInfinity;
  for (size_t p = 0; p < kTree.size(); ++p) {
    const double us = kTree[p].base + 2 * ((layout.per_node() - 1) * kTree[p].in_node +
                                           depth * (kTree[p].network + layout.late_us));
    least = std::min(least, us + 2 * bytes / rates[p]);
  }
  return least;
}

double NvlsTreeUs(const Fabric& fabric, const Layout& layout, double bytes) {
  const double depth = std::floor(std::log2(layout.nodes));
  const double network = TreeNetwork(fabric, layout, kNvlsTreeShare * (layout.nodes > 2 ? 1 : 2));
  const double rate = std::min(network, fabric.link * kNvlsTreeMostOfLink);
  return kNvlsTreeUs + 2 * depth * (kNvlsTreeHopUs + layout.late_us) +
         2 * (bytes + kNvlsTreeFill * layout.ranks) / rate;
}

double AllToAllUs(const Fabric& fabric, const Layout& layout, double bytes) {
  size_t i = 1;
  while (i + 1 < kAllToAllUs.size() && kAllToAllUs[i].first < layout.nodes) ++i;
  const auto& [low, low_us] = kAllToAllUs[i - 1];
  const auto& [high, high_us] = kAllToAllUs[i];
  const double us = Between(low_us, high_us, (layout.nodes - low) / (high - low)) + layout.late_us;
  const double per_node = layout.per_node();
  const double rate = fabric.all_to_all / per_node * (1 - kAllToAllLost / layout.nodes);
  const double far = (bytes + kAllToAllFill) * (layout.ranks - per_node) / layout.ranks;
  const double near = bytes * (per_node - 1) / layout.ranks;
  return us + std::max(far / rate, near / fabric.in_node);
}

double AcrossNodesUs(const Fabric& fabric, const Layout& layout, const Task& task) {
  if (task.kind == CollectiveKind::kAllToAll) return AllToAllUs(fabric, layout, task.bytes);
  double us = RingUs(fabric, layout, task);
  if (task.kind != CollectiveKind::kAllReduce) return us;
  us = std::min(us, TreeUs(fabric, layout, task.bytes));
  if (fabric.sums_in_switch && !task.sums_bytes && layout.per_node() >= 4)
    us = std::min(us, NvlsTreeUs(fabric, layout, task.bytes));
  return us;
}

}  // namespace

std::optional<CollectiveEstimate> EstimateByLaw(const Cluster& cluster, const Collective& collective,
                                                const Layout& layout) {
  const GpuFacts* gpu = FindGpu(cluster.fabric);
  if (gpu == nullptr) return std::nullopt;
  const std::vector<Constants>* law = LawOf(gpu->law, collective.kind);
  if (law == nullptr) return std::nullopt;
  const double scale = WireScale(cluster, gpu->law);
  const Task task{collective.kind, static_cast<double>(collective.bytes),
                  Reduces(collective.kind) && ElementSize(collective.dtype) == 1};
  if (layout.nodes <= 1) return InNode(*law, scale, task, layout.ranks);
  Fabric fabric;
  fabric.link = cluster.switch_bandwidth * 1e-6;
  const double per_node = layout.per_node();
  fabric.in_node = per_node > 1 ? ConstantsFor(*law, per_node).protocols[2].rate * scale : kInfinity;
  fabric.network = layout.network * 1e-6;
  fabric.all_to_all = layout.all_to_all_network * 1e-6;
  fabric.sums_in_switch = gpu->sums_in_switch;
  fabric.whole_nodes = per_node >= cluster.gpus_per_node && per_node > 1;
  return CollectiveEstimate{AcrossNodesUs(fabric, layout, task) * 1e3};
}

}  // namespace lanescope
