// SPDX-License-Identifier: Apache-2.0
#include "core/machine/copy_time.h"

#include <algorithm>
#include <cmath>

#include "core/base/size_table.h"

namespace lanescope {
namespace {

constexpr double kLongestNs = 0x1p60;

int64_t RoundNs(double ns) { return static_cast<int64_t>(std::llround(std::clamp(ns, 0.0, kLongestNs))); }

}  // namespace

int64_t CopyNs(const Machine& machine, const Route& route, int64_t bytes) {
  const double bandwidth = route.bandwidth > 0 ? route.bandwidth : kAssumedBandwidth;
  if (route.link >= 0) {
    const LinkSpec& link = machine.links[static_cast<size_t>(route.link)];
    if (!link.table.empty()) return RoundNs(InterpolateNs(link.table, 1e9 / bandwidth, bytes));
  }
  return route.latency_ns + RoundNs(static_cast<double>(bytes) * 1e9 / bandwidth);
}

}  // namespace lanescope
