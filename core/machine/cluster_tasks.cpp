// SPDX-License-Identifier: Apache-2.0
#include "core/machine/cluster_tasks.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/machine/tasks.h"

namespace lanescope {
namespace {

constexpr int kMostTasks = 256;
constexpr int kFirstPort = 1024, kLastPort = 65535;

[[noreturn]] void ThrowPart(std::string_view part, std::string_view problem) {
  Throw(Code::kInvalidArgument,
        "'{}' in the cluster {}; write JOB=HOST:N,HOST:N,JOB=HOST:N, with N tasks on a host", part, problem);
}

bool IsHostName(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

bool IsJobName(std::string_view job) {
  DeviceName name;
  return !job.empty() && ParseDeviceName("/job:" + std::string(job), &name) && name.job == job &&
         !name.has_type;
}

// How many tasks run on the host.
int CountOf(std::string_view part, std::string_view text) {
  int count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || count < 1 || count > kLastPort)
    ThrowPart(part, "has no number of tasks, and no port, behind its ':'");
  return count >= kFirstPort ? 1 : count;
}

// The name of a device of a machine whose tasks have no names.
std::string NameIn(const ClusterTask& task, DeviceName name) {
  name.has_job = name.has_replica = name.has_task = true;
  name.job = task.job;
  name.replica = 0;
  name.task = task.task;
  return name.ToString();
}

void AddTask(const Machine& each, const ClusterTask& task, bool names_buses, Machine* machine) {
  const int first = machine->num_devices();
  const auto bus = static_cast<int>(machine->buses.size());
  for (DeviceSpec device : each.devices) {
    device.name = NameIn(task, device.parsed);
    ParseDeviceName(device.name, &device.parsed);
    machine->devices.Add(std::move(device));
  }
  for (LinkSpec link : each.links) {
    link.a = DeviceId(first + link.a.number());
    link.b = DeviceId(first + link.b.number());
    if (link.bus >= 0) link.bus += bus;
    machine->links.push_back(std::move(link));
  }
  for (BusSpec shared : each.buses) {
    if (names_buses) shared.name = task.name() + " " + shared.name;
    machine->buses.push_back(std::move(shared));
  }
}

void RequireOneTask(const Machine& machine) {
  if (machine.cluster) {
    Throw(Code::kInvalidArgument,
          "the machine '{}' has a network of many nodes by itself; give --cluster the machine of one task",
          machine.name);
  }
  if (const int tasks = TasksOf(machine).size(); tasks > 1) {
    Throw(Code::kInvalidArgument,
          "the machine '{}' has {} tasks already; leave out --cluster, or give it the machine of one task",
          machine.name, tasks);
  }
}

// Each once, in the order of the tasks.
std::string NamesOf(const std::vector<Machine>& machines) {
  std::set<std::string> known;
  std::string names;
  for (const Machine& machine : machines) {
    if (known.insert(machine.name).second) names += (names.empty() ? "" : ", ") + machine.name;
  }
  return names;
}

constexpr double kNetworkBandwidth = 1e9;

// One for each computer, where there are several.
std::vector<NicSpec> NicsOf(const std::vector<ClusterTask>& tasks, const std::vector<DeviceId>& hosts) {
  std::map<std::string, NicSpec> nics;
  for (size_t t = 0; t < tasks.size(); ++t) {
    NicSpec& nic = nics[tasks[t].host];
    nic.hosts.push_back(hosts[t]);
    nic.bandwidth = kNetworkBandwidth;
  }
  std::vector<NicSpec> all;
  for (auto& [computer, nic] : nics) all.push_back(std::move(nic));
  if (all.size() == 1) all.clear();
  return all;
}

LinkSpec NetworkBetween(DeviceId a, DeviceId b, bool one_host) {
  LinkSpec link;
  link.a = a;
  link.b = b;
  link.bandwidth = one_host ? 8e9 : kNetworkBandwidth;
  link.latency_ns = one_host ? 60'000 : 200'000;
  return link;
}

}  // namespace

std::vector<ClusterTask> ParseClusterTasks(std::string_view text) {
  std::vector<ClusterTask> tasks;
  std::set<std::string, std::less<>> jobs;
  std::string job;
  int next = 0;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(",;", begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    const std::string_view whole = part;
    begin = end + 1;
    if (const size_t equals = part.find('='); equals != std::string_view::npos) {
      job = part.substr(0, equals);
      if (!IsJobName(job)) ThrowPart(whole, "does not begin with the name of a job");
      if (!jobs.insert(job).second) Throw(Code::kAlreadyExists, "the cluster has a job '{}' already", job);
      next = 0;
      part.remove_prefix(equals + 1);
    }
    if (job.empty()) ThrowPart(whole, "names no job");
    const size_t colon = part.find(':');
    const std::string_view host = part.substr(0, colon);
    if (!IsHostName(host)) ThrowPart(whole, "names no host");
    const int count = colon == std::string_view::npos ? 1 : CountOf(whole, part.substr(colon + 1));
    if (static_cast<int>(tasks.size()) + count > kMostTasks)
      Throw(Code::kInvalidArgument, "the cluster has more than {} tasks", kMostTasks);
    for (int i = 0; i < count; ++i) tasks.push_back({job, next++, std::string(host)});
  }
  return tasks;
}

Machine MachineOfTasks(const std::vector<Machine>& each, const std::vector<ClusterTask>& tasks) {
  LANESCOPE_CHECK(each.size() == tasks.size());
  for (const Machine& of_task : each) RequireOneTask(of_task);
  Machine machine;
  machine.name = fmt::format("{} task{} of {}", tasks.size(), tasks.size() == 1 ? "" : "s", NamesOf(each));
  for (size_t t = 0; t < tasks.size(); ++t) AddTask(each[t], tasks[t], tasks.size() > 1, &machine);
  const std::vector<DeviceId> hosts = TasksOf(machine).hosts;
  for (size_t a = 0; a < tasks.size(); ++a) {
    for (size_t b = a + 1; b < tasks.size(); ++b)
      machine.links.push_back(NetworkBetween(hosts[a], hosts[b], tasks[a].host == tasks[b].host));
  }
  machine.nics = NicsOf(tasks, hosts);
  return machine;
}

Machine MachineOfTasks(const Machine& each, const std::vector<ClusterTask>& tasks) {
  return MachineOfTasks(std::vector<Machine>(tasks.size(), each), tasks);
}

bool MayBeOneHost(std::string_view a, std::string_view b) {
  const auto first_label = [](std::string_view host) {
    std::string label(host.substr(0, host.find('.')));
    for (char& c : label) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return label;
  };
  const auto says_nothing = [](const std::string& label) {
    return label == "localhost" || label.find_first_not_of("0123456789") == std::string::npos;
  };
  const std::string x = first_label(a), y = first_label(b);
  return x == y || says_nothing(x) || says_nothing(y);
}

}  // namespace lanescope
