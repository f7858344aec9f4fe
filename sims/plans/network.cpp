// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/network.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/machine/collective.h"

namespace lanescope::sims::plans {
namespace {

double Seconds(const Cluster& cluster, CollectiveKind kind, const Group& group, double bytes,
               DataType dtype = DataType::kBfloat16) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const Collective collective{.kind = kind,
                              .bytes = static_cast<int64_t>(std::min(bytes, 0x1p62)),
                              .ranks = {.count = group.size, .stride = group.stride},
                              .dtype = dtype};
  return EstimateCollective(cluster, collective).ns * 1e-9;
}

// Printed by bench/accuracy/dispatch_fit.py: microseconds alone, and between nodes for each time that their
// number doubles; picoseconds a byte that a GPU gets, a copy of a token, and a byte of a token; and the power
// of the multiprocessors that the rate goes with.
struct ExchangeLaw {
  double start_us, doubling_us, byte_ps, copy_ps, token_byte_ps, power;
};
struct FabricExchange {
  std::string_view fabric;
  ExchangeLaw dispatch, combine;
};
constexpr FabricExchange kExchanges[] = {
    {"H100-SXM", {26.6, 4.8, 1.343, 5084, 3.18, .87}, {38.3, 13, 1.769, 719, 4.84, .79}},
    {"H200-SXM", {26.6, 4.8, 1.343, 5084, 3.18, .87}, {38.3, 13, 1.769, 719, 4.84, .79}},
    {"B200-SXM", {35.2, 4.8, .866, 7536, 3.58, .88}, {46.9, 13, .932, 5894, 4.63, .88}},
    {"B300-SXM", {35.2, 4.8, .866, 7536, 3.58, .88}, {46.9, 13, .932, 5894, 4.63, .88}},
    {"GB200", {33.9, 4.8, 0, 9140, 4.59, .86}, {39.9, 13, .236, 9439, 4.60, .86}},
    {"GB300", {33.9, 4.8, 0, 9140, 4.59, .86}, {39.9, 13, .236, 9439, 4.60, .86}},
};
constexpr double kLawMultiprocessors = 24;  // of which the laws are
constexpr double kPortShare = .91;          // of the bandwidth of a GPU's network port

// How many places have an expert of a token, if each has as many and none is drawn twice.
double PlacesReached(double places, double experts, double top_k) {
  const double own = experts / places;
  double misses = 1;
  for (double drawn = 0; drawn < std::min(top_k, experts); ++drawn)
    misses *= std::max(0.0, experts - own - drawn) / (experts - drawn);
  return places * (1 - misses);
}

}  // namespace

double GatherSeconds(const Cluster& cluster, const Group& group, double bytes) {
  return Seconds(cluster, CollectiveKind::kAllGather, group, bytes);
}

double ScatterSeconds(const Cluster& cluster, const Group& group, double bytes, DataType dtype) {
  return Seconds(cluster, CollectiveKind::kReduceScatter, group, bytes, dtype);
}

double AllReduceSeconds(const Cluster& cluster, const Group& group, double bytes) {
  return Seconds(cluster, CollectiveKind::kAllReduce, group, bytes);
}

double AllToAllSeconds(const Cluster& cluster, const Group& group, double bytes) {
  return Seconds(cluster, CollectiveKind::kAllToAll, group, bytes);
}

// Between nodes half of the multiprocessors pass on what the others receive.
std::optional<double> ExchangeSeconds(const Cluster& cluster, int ranks, const TokenExchange& exchange) {
  const auto* fabric = std::ranges::find(kExchanges, cluster.fabric, &FabricExchange::fabric);
  if (fabric == std::end(kExchanges)) return std::nullopt;
  if (ranks <= 1) return 0;
  const ExchangeLaw& law = exchange.way == TokenExchange::Way::kDispatch ? fabric->dispatch : fabric->combine;
  const double nodes = std::ceil(static_cast<double>(ranks) / cluster.gpus_per_node);
  const double reached = PlacesReached(ranks, exchange.experts, exchange.top_k);
  const double working = exchange.multiprocessors / (nodes > 1 ? 2 : 1);
  const double of_token =
      reached * (law.byte_ps * exchange.token_bytes + law.copy_ps) + law.token_byte_ps * exchange.token_bytes;
  const double near = exchange.tokens * of_token * 1e-12 * std::pow(kLawMultiprocessors / working, law.power);
  const double others = PlacesReached(nodes, exchange.experts, exchange.top_k) * (nodes - 1) / nodes;
  const double port = cluster.nic_bandwidth * cluster.nics_per_node / cluster.gpus_per_node;
  const double far = exchange.tokens * others * exchange.token_bytes / (kPortShare * port);
  return (law.start_us + law.doubling_us * std::log2(nodes)) * 1e-6 + std::max(near, far);
}

// NCCL sends by the same kernels: a broadcast among two.
double MessageSeconds(const Cluster& cluster, int stride, double bytes) {
  return Seconds(cluster, CollectiveKind::kBroadcast, {2, stride}, bytes);
}

}  // namespace lanescope::sims::plans
