// SPDX-License-Identifier: Apache-2.0
// The links of a machine as resources that copies share, and what a copy is on them. Internal to core and
// sims.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/machine/machine.h"
#include "core/time/ticks.h"

namespace lanescope {

struct LinkPath {
  int first = 0, count = 0;  // of LinkPaths' resources
  Ticks latency = 0;
  double bandwidth = 0;  // bytes per tick, of the narrowest
};

// The paths of those pairs of devices that were asked for. Owned by one thread while it grows.
class LinkPaths {
 public:
  static constexpr int kNone = -1;

  LinkPaths() = default;
  explicit LinkPaths(const Machine& machine);

  // The number of the path from one device to another; kNone where nothing on it can be shared. Throws
  // NotFound where the machine has no route.
  int Find(const Machine& machine, DeviceId src, DeviceId dst);

  bool empty() const { return paths_.empty(); }
  const LinkPath& path(int number) const { return paths_[static_cast<size_t>(number)]; }
  // Each once, ascending.
  std::span<const int> resources(const LinkPath& path) const {
    return {resources_.data() + path.first, static_cast<size_t>(path.count)};
  }
  // By resource, in bytes per tick; of those whose rate nobody knows one that never binds.
  const std::vector<double>& capacities() const { return capacities_; }
  // The most resources of a path.
  int max_hops() const { return max_hops_; }

 private:
  int Add(const Route& route);

  std::vector<double> capacities_;
  std::vector<LinkPath> paths_;
  std::vector<int> resources_;
  int max_hops_ = 0;
  std::map<std::pair<DeviceId, DeviceId>, int> known_;
};

// A copy after its latency: bytes that flow, at most so many per tick.
struct CopyFlow {
  double bytes = 0;
  double limit = 0;
};

// Whether a copy of that size and time alone shares its links: else it only takes its time.
inline bool Flows(const LinkPath& path, int64_t bytes, Ticks duration) {
  return bytes > 0 && duration > path.latency;
}

// Alone, the flow takes the copy's given time less the latency: a slower copy than its links is limited,
// a faster one (by its size-to-time table) counts as fewer bytes. Differences below a ns are rounding.
inline CopyFlow FlowAlone(const LinkPath& path, int64_t bytes, Ticks duration) {
  const auto moving = static_cast<double>(duration - path.latency);
  const auto all = static_cast<double>(bytes);
  const double alone = all / path.bandwidth;
  if (alone < moving - kTicksPerNs) return {all, all / moving};
  if (alone > moving + kTicksPerNs) return {moving * path.bandwidth, path.bandwidth};
  return {all, path.bandwidth};
}

}  // namespace lanescope
