// SPDX-License-Identifier: Apache-2.0
#include "study/job/serving.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/graph/op.h"
#include "core/machine/machine_part.h"
#include "core/machine/tasks.h"
#include "study/job/gpu_shares.h"
#include "study/job/this_machine.h"

namespace lanescope::study {
namespace {

constexpr char kMark[] = "lanescope role ";

// The file as all processes of this host call it.
std::string OnThisHost(const std::string& path) {
  if (path.empty()) return "";
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  return fmt::format("{}:{}", HostName(), error ? path : whole.string());
}

// The devices that a client sees, its own first, as numbers of the machine's.
std::vector<DeviceId> DevicesSeen(const MachineTasks& tasks, int client, const std::vector<int>& servers) {
  std::vector<DeviceId> seen;
  for (const DeviceId d : tasks.task_of.ids()) {
    if (tasks.task_of[d] == client) seen.push_back(d);
  }
  for (const DeviceId d : tasks.task_of.ids()) {
    if (std::ranges::count(servers, tasks.task_of[d]) > 0) seen.push_back(d);
  }
  return seen;
}

}  // namespace

Roles ShareRoles(exec::Transport* transport, bool serves, const std::string& trace) {
  const std::vector<std::string> all =
      transport->Share(fmt::format("{}{}{}", kMark, serves ? "serve " : "run ", OnThisHost(trace)));
  Roles roles;
  std::map<std::string, int> files;
  for (int rank = 0; rank < transport->size(); ++rank) {
    const std::string_view theirs = all[static_cast<size_t>(rank)];
    if (!theirs.starts_with(kMark)) {
      Throw(
          Code::kInvalidArgument,
          "{} neither runs a graph nor serves its devices; give every process `lanescope run` or `lanescope "
          "serve`",
          transport->NameOf(rank));
    }
    const std::string_view role = theirs.substr(sizeof kMark - 1);
    (role.starts_with("serve") ? roles.servers : roles.clients).push_back(rank);
  }
  if (!roles.are_served()) return roles;
  for (const int rank : roles.clients) {
    const std::string& theirs = all[static_cast<size_t>(rank)];
    const std::string file = theirs.substr(sizeof kMark - 1 + std::string_view("run ").size());
    const auto [found, added] = files.try_emplace(file, rank);
    if (added || file.empty()) continue;
    Throw(
        Code::kInvalidArgument,
        "{} and {} write the same trace: every process that runs a graph of its own has one of its own; name "
        "it with {{rank}}, as in --trace t-{{rank}}.db",
        transport->NameOf(found->second), transport->NameOf(rank));
  }
  if (roles.clients.empty())
    Throw(Code::kInvalidArgument,
          "all processes serve, and none runs a graph; start `lanescope run` with them");
  roles.computers = ComputersOf(transport->Share(ThisComputer()));
  return roles;
}

void RequireTasks(const Machine& machine, exec::Transport* transport) {
  const int tasks = TasksOf(machine).size();
  if (tasks != transport->size()) {
    Throw(Code::kFailedPrecondition,
          "the machine has {} task{}, but {} processes were started: start one for each, or give --machine a "
          "file with as many tasks",
          tasks, tasks == 1 ? "" : "s", transport->size());
  }
  RequireOwnGpus(machine, transport);
}

PlacedGraph PlaceForClient(const Workload& workload, const std::string& strategy, const Machine& machine,
                           int client, const std::vector<int>& servers, const CostModel& costs,
                           const PlaceOptions& options) {
  if (machine.cluster) {
    Throw(Code::kUnimplemented, "a machine whose GPUs a formula joins is simulated; give one with tasks");
  }
  const std::vector<DeviceId> seen = DevicesSeen(TasksOf(machine), client, servers);
  PlacedGraph placed = Place(workload, strategy, PartOf(machine, seen), costs, options);
  for (DeviceId& device : placed.placement.device) device = seen[device.index()];
  return placed;
}

std::vector<std::string> InitOfTask(const PlacedGraph& placed, const Machine& machine, int task) {
  const Graph& graph = placed.workload->graph();
  const MachineTasks tasks = TasksOf(machine);
  std::vector<NodeId> open;
  std::set<NodeId> seen;
  std::vector<std::string> own;
  const auto visit = [&](NodeId node) {
    if (seen.insert(node).second) open.push_back(node);
  };
  for (const std::string& target : placed.workload->spec().init) visit(graph.FindEndpoint(target).node);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const Node& node = graph.node(id);
    const OpDef* def = OpRegistry::Global().Find(node.op);
    const bool updates = def != nullptr && def->role == StateRole::kUpdate;
    if (updates && tasks.task_of[placed.placement.device[id]] == task) own.push_back(node.name);
    for (const Endpoint& input : node.inputs) visit(input.node);
    for (const NodeId control : node.control_inputs) visit(control);
  }
  std::ranges::sort(own);
  return own;
}

}  // namespace lanescope::study
