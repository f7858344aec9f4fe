// The connections of a session's GPUs to those of other processes. Internal to exec.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/machine.h"
#include "core/machine/tasks.h"
#include "core/schedule/schedule.h"
#include "exec/device.h"
#include "exec/peer_channel.h"
#include "exec/transport.h"

namespace lanescope::exec {

// Two GPUs, the lower first.
using GpuPair = std::pair<DeviceId, DeviceId>;

// Those that send to each other and are of different tasks, ascending. Throws FailedPrecondition for a copy
// that a GPU of hardware would exchange with another task's host.
std::vector<GpuPair> JoinedPairs(const Schedule& schedule, const Machine& machine, const MachineTasks& tasks);

// Made when the first step is loaded that needs them, by all processes. Used by one thread at a time; refers
// to what it is made of.
class PeerConnections {
 public:
  // How long the two ends may take to meet.
  static constexpr int64_t kMostJoiningNs = 60'000'000'000;

  PeerConnections(const MachineTasks& tasks, const IdVector<DeviceId, std::unique_ptr<Device>>& devices,
                  Transport* transport)
      : tasks_(tasks), devices_(devices), transport_(*transport) {}

  // All processes call it with the same pairs. Makes those that are new, one after the other: whoever has no
  // end of one goes on to the next, and both ends of the first that is not made are at it or come to it. What
  // goes wrong in one process all of them throw.
  void Require(const std::vector<GpuPair>& pairs);
  // This process' end; null where the two are not joined.
  PeerChannel* Between(DeviceId a, DeviceId b) const;

 private:
  bool HasEnd(const GpuPair& pair) const;
  StreamDevice* OwnOf(const GpuPair& pair) const;
  std::string NamesOf(const std::vector<GpuPair>& pairs);
  void Join(const GpuPair& pair, const std::string& name);

  const MachineTasks tasks_;
  const IdVector<DeviceId, std::unique_ptr<Device>>& devices_;
  Transport& transport_;
  std::map<GpuPair, std::unique_ptr<PeerChannel>> channels_;  // null: of other processes
};

}  // namespace lanescope::exec
