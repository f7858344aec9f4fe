// SPDX-License-Identifier: Apache-2.0
#include "core/collective/joint_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/collective/collective_cost.h"
#include "core/machine/collective.h"
#include "core/machine/tasks.h"

namespace lanescope {
namespace {

// The GPU that a node asks for by a name of any form; none where it asks for none, or for several.
DeviceId AskedDevice(const Machine& machine, const std::string& name) {
  DeviceName asked;
  if (!ParseDeviceName(name, &asked) || !asked.has_type || !asked.has_id) return {};
  for (const DeviceId d : machine.devices.ids()) {
    if (Matches(asked, machine.device(d).parsed)) return d;
  }
  return {};
}

// As first, first + stride, ...; count 0: they are not, or the cluster does not have them.
RankGroup GroupInCluster(const Machine& machine, const std::vector<DeviceId>& devices) {
  RankGroup group{0, 0, 1};
  if (!machine.cluster) return group;
  std::vector<int> ranks;
  for (const DeviceId d : devices) ranks.push_back(d.number() - machine.first_clustered.number());
  std::sort(ranks.begin(), ranks.end());
  if (ranks.front() < 0 || ranks.back() >= machine.cluster->num_gpus()) return group;
  const int stride = ranks.size() > 1 ? ranks[1] - ranks[0] : 1;
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (stride < 1 || ranks[i] - ranks[i - 1] != stride) return group;
  }
  return {ranks[0], static_cast<int>(ranks.size()), stride};
}

// Around a ring, each of the n passes n - 1 shares of the tensor on for the sum and as many for its way back,
// all at once; a gathering has no sum, a scattering no way back. What arrives is summed as it is passed on:
// beside the messages nothing takes time.
int64_t RingNs(const Machine& machine, const std::vector<DeviceId>& devices, CollectiveKind kind,
               int64_t bytes) {
  const auto count = static_cast<int64_t>(devices.size());
  const MachineTasks tasks = TasksOf(machine);
  CollectiveCost round(machine, tasks, devices, false);
  for (size_t i = 0; i < devices.size(); ++i)
    round.Send((i + 1) % devices.size(), round.Begin(i, bytes / count));
  const double ways = kind == CollectiveKind::kAllReduce ? 2 : 1;
  return std::llround(
      std::min(ways * static_cast<double>(count - 1) * static_cast<double>(round.Ns()), 0x1p60));
}

// GPUs of different tasks that have a link of their own are (WithJoinedGpus).
bool AreJoined(const Machine& machine, const std::vector<DeviceId>& devices) {
  if (machine.cluster) return true;
  const MachineTasks tasks = TasksOf(machine);
  for (const DeviceId a : devices) {
    for (const DeviceId b : devices) {
      if (!tasks.SameTask(a, b) && !IsLinked(machine, a, b)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<CollectiveKind> JointKindOf(const Node& node) {
  if (node.op == "NcclAllReduce") return CollectiveKind::kAllReduce;
  if (node.op == "CollectiveGatherV2") return CollectiveKind::kAllGather;
  if (node.op == "CollectiveReduceScatterV2") return CollectiveKind::kReduceScatter;
  return std::nullopt;
}

std::string JointLaunchOf(const Node& node) {
  return JointKindOf(node) ? node.StringAttr(kJointLaunch, "") : "";
}

std::string WhyNoJointLaunches(const Graph& graph, const Placement& placement, const Machine& machine) {
  std::map<std::string, std::set<std::pair<std::string, int>>> taken;  // by joint launch: task and GPU
  std::map<std::string, std::vector<DeviceId>> devices;
  for (const NodeId id : graph.node_ids()) {
    const std::string joint = JointLaunchOf(graph.node(id));
    if (joint.empty()) continue;
    const DeviceSpec& device = machine.device(placement.device[id]);
    const bool modelled = device.kind == DeviceKind::kModelled;
    if (!device.is_gpu() || !(modelled || device.is_hardware()) || device.sm_share > 0) {
      return fmt::format("node '{}' is on {}, which is {}", graph.node(id).name, device.local_name(),
                         device.sm_share > 0 ? "a share of a GPU's multiprocessors" : "no GPU of hardware");
    }
    DeviceName task = device.parsed;
    task.has_type = task.has_id = false;
    const int number = modelled ? device.parsed.id : device.physical;
    if (!taken[joint].emplace(task.ToString(), number).second)
      return fmt::format("node '{}' shares {} with another part of '{}'", graph.node(id).name,
                         device.local_name(), joint);
    devices[joint].push_back(placement.device[id]);
  }
  for (const auto& [joint, places] : devices) {
    if (!AreJoined(machine, places))
      return fmt::format("'{}' has parts in several processes whose GPUs are not joined", joint);
  }
  return "";
}

int64_t JointLaunchNs(const Machine& machine, const Node& node, int64_t bytes) {
  if (JointLaunchOf(node).empty()) return 0;
  std::vector<DeviceId> devices;
  for (const std::string& name : node.StringListAttr(kJointDevices)) {
    devices.push_back(AskedDevice(machine, name));
    if (!devices.back().exists()) return 0;
  }
  if (devices.size() < 2) return 0;
  const CollectiveKind kind = *JointKindOf(node);
  const double parts = kind == CollectiveKind::kAllGather ? static_cast<double>(devices.size()) : 1;
  const auto whole = static_cast<int64_t>(std::min(parts * static_cast<double>(bytes), 0x1p60));
  if (const RankGroup group = GroupInCluster(machine, devices); group.count > 0)
    return CollectiveNs(*machine.cluster,
                        {kind, CollectiveAlgorithm::kNccl, whole, group, node.TypeAttr("T")});
  return RingNs(machine, devices, kind, whole);
}

}  // namespace lanescope
