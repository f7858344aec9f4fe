// SPDX-License-Identifier: Apache-2.0
#include "core/time/link_paths.h"

#include <algorithm>
#include <set>

namespace lanescope {
namespace {

constexpr double kUnboundBandwidth = 1e18;
constexpr double kTicksPerSecond = 1e9 * kTicksPerNs;

}  // namespace

LinkPaths::LinkPaths(const Machine& machine) {
  for (int r = 0; r < machine.num_resources(); ++r) {
    const double bandwidth = machine.ResourceBandwidth(r);
    capacities_.push_back((bandwidth > 0 ? bandwidth : kUnboundBandwidth) / kTicksPerSecond);
  }
}

int LinkPaths::Find(const Machine& machine, DeviceId src, DeviceId dst) {
  const auto [found, added] = known_.try_emplace({src, dst}, kNone);
  if (added) found->second = Add(machine.RouteBetween(src, dst));
  return found->second;
}

int LinkPaths::Add(const Route& route) {
  const std::set<int> resources(route.resources.begin(), route.resources.end());
  if (resources.empty()) return kNone;
  LinkPath path{.first = static_cast<int>(resources_.size()),
                .count = static_cast<int>(resources.size()),
                .latency = TicksOf(route.latency_ns),
                .bandwidth = capacities_[static_cast<size_t>(*resources.begin())]};
  for (const int resource : resources) {
    path.bandwidth = std::min(path.bandwidth, capacities_[static_cast<size_t>(resource)]);
    resources_.push_back(resource);
  }
  max_hops_ = std::max(max_hops_, path.count);
  paths_.push_back(path);
  return static_cast<int>(paths_.size()) - 1;
}

}  // namespace lanescope
