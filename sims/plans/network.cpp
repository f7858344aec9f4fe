// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/network.h"

#include <algorithm>

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

// NCCL sends by the same kernels: a broadcast among two.
double MessageSeconds(const Cluster& cluster, int stride, double bytes) {
  return Seconds(cluster, CollectiveKind::kBroadcast, {2, stride}, bytes);
}

}  // namespace lanescope::sims::plans
