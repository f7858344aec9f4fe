// SPDX-License-Identifier: Apache-2.0
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
#include "exec/device/device.h"
#include "exec/device/joint_driver.h"
#include "exec/device/peer_channel.h"
#include "exec/messages/transport.h"

namespace lanescope::exec {

// Two GPUs, the lower first.
using GpuPair = std::pair<DeviceId, DeviceId>;
// The GPUs of a joint launch of several processes, by rank.
using GpuGroup = std::vector<DeviceId>;

// Pairs that send to each other, of different tasks, ascending. Throws FailedPrecondition for a copy
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

  // All processes call it with the same pairs and groups. Makes those that are new, one after the other:
  // whoever has no GPU of one goes on to the next, and all processes of the first that is not made are at it
  // or come to it. What goes wrong in one process all of them throw.
  void Require(const std::vector<GpuPair>& pairs, const std::vector<GpuGroup>& groups);
  // This process' end; null where the two are not joined.
  PeerChannel* Between(DeviceId a, DeviceId b) const;
  // This process' part of one that was required; null where it has none.
  JointGroup* GroupOf(const GpuGroup& gpus) const;

 private:
  // One that is to be made: two GPUs, or a group.
  struct Missing {
    GpuGroup gpus;
    bool is_pair = false;
  };

  std::vector<Missing> FindMissing(const std::vector<GpuPair>& pairs,
                                   const std::vector<GpuGroup>& groups) const;
  bool IsOwn(DeviceId gpu) const { return tasks_.task_of[gpu] == transport_.rank(); }
  StreamDevice* OwnGpu(DeviceId gpu) const;
  std::string NamesOf(const std::vector<Missing>& missing) const;
  void JoinPair(const GpuGroup& gpus, const std::string& name, int end);
  void JoinGroup(const GpuGroup& gpus, const std::string& name);
  template <typename Made>
  void Meet(const GpuGroup& gpus, Made* made);
  void JoinAll(const std::vector<Missing>& missing, const std::vector<std::string>& names,
               std::string* problem);

  const MachineTasks tasks_;
  const IdVector<DeviceId, std::unique_ptr<Device>>& devices_;
  Transport& transport_;
  // Null: of other processes.
  std::map<GpuPair, std::unique_ptr<PeerChannel>> channels_;
  std::map<GpuGroup, std::unique_ptr<JointGroup>> groups_;
};

}  // namespace lanescope::exec
