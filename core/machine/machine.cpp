// SPDX-License-Identifier: Apache-2.0
#include "core/machine/machine.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/machine/tasks.h"

namespace lanescope {
namespace {

DeviceSpec MakeDevice(const std::string& local_name, DeviceKind kind, int64_t memory_bytes, int workers) {
  DeviceSpec device;
  device.name = std::string(kLocalTask) + "/device:" + local_name;
  ParseDeviceName(device.name, &device.parsed);
  device.kind = kind;
  device.memory_bytes = memory_bytes;
  device.workers = workers;
  return device;
}

int FindLink(const Machine& machine, DeviceId a, DeviceId b) {
  for (size_t i = 0; i < machine.links.size(); ++i) {
    const LinkSpec& link = machine.links[i];
    if ((link.a == a && link.b == b) || (link.a == b && link.b == a)) return static_cast<int>(i);
  }
  return -1;
}

// CPU:0 of the device's task; none if there is none.
DeviceId HostBeside(const Machine& machine, DeviceId device) {
  const DeviceName& name = machine.device(device).parsed;
  for (const DeviceId d : machine.devices.ids()) {
    const DeviceName& other = machine.device(d).parsed;
    if (other.id == 0 && other.type == "CPU" && IsSameAddressSpace(other, name)) return d;
  }
  return {};
}

// The interface of the device's task; -1 if it has none.
int NicOf(const Machine& machine, DeviceId device) {
  const DeviceId host = HostBeside(machine, device);
  for (size_t n = 0; n < machine.nics.size(); ++n) {
    const auto& hosts = machine.nics[n].hosts;
    if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) return static_cast<int>(n);
  }
  return -1;
}

// A copy from one task to another passes the interfaces of both, if they are not the same one.
void AddNics(const Machine& machine, DeviceId from, DeviceId to, Route* route) {
  if (machine.nics.empty() || IsSameAddressSpace(machine.device(from).parsed, machine.device(to).parsed))
    return;
  const int out = NicOf(machine, from), in = NicOf(machine, to);
  if (out == in) return;
  const auto first = static_cast<int>(2 * machine.links.size() + machine.buses.size());
  if (out >= 0) route->resources.push_back(first + 2 * out);
  if (in >= 0) route->resources.push_back(first + 2 * in + 1);
}

// Appends the resources that a copy leaving `from` over this link holds; a bus that both hops of a staged
// copy pass is listed once.
void AddHop(const Machine& machine, int link_number, DeviceId from, Route* route) {
  const LinkSpec& link = machine.links[static_cast<size_t>(link_number)];
  const bool backwards = link.duplex && from == link.b;
  route->resources.push_back(2 * link_number + (backwards ? 1 : 0));
  if (link.bus >= 0) {
    const int bus = static_cast<int>(2 * machine.links.size()) + link.bus;
    if (std::find(route->resources.begin(), route->resources.end(), bus) == route->resources.end()) {
      route->resources.push_back(bus);
    }
  }
  AddNics(machine, from, from == link.a ? link.b : link.a, route);
  route->latency_ns += link.latency_ns;
}

// From device to device over links: through the hosts of both. Nothing where a link is missing.
std::optional<Route> StagedRoute(const Machine& machine, DeviceId src, DeviceId dst) {
  std::vector<DeviceId> stops{src};
  for (const DeviceId stop : {HostBeside(machine, src), HostBeside(machine, dst), dst}) {
    if (!stop.exists()) return std::nullopt;
    if (stop != stops.back()) stops.push_back(stop);
  }
  if (stops.size() < 3) return std::nullopt;
  Route route;
  for (size_t i = 1; i < stops.size(); ++i) {
    const int link = FindLink(machine, stops[i - 1], stops[i]);
    if (link < 0) return std::nullopt;
    AddHop(machine, link, stops[i - 1], &route);
  }
  route.staged = true;
  return route;
}

// The way between two devices of the cluster, or between one and the host.
std::optional<Cluster::Way> WayInCluster(const Machine& machine, DeviceId src, DeviceId dst) {
  if (!machine.cluster) return std::nullopt;
  const int first = machine.first_clustered.number();
  const int from = src.number() - first, to = dst.number() - first;
  if (from >= 0 && to >= 0) return machine.cluster->Between(from, to);
  if (from >= 0 && dst == machine.host()) return machine.cluster->ToHost(from);
  if (to >= 0 && src == machine.host()) return machine.cluster->FromHost(to);
  return std::nullopt;
}

}  // namespace

std::string_view DeviceKindName(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kHost:
      return "host";
    case DeviceKind::kVirtual:
      return "virtual";
    case DeviceKind::kCuda:
      return "cuda";
    case DeviceKind::kLogical:
      return "logical";
    case DeviceKind::kModelled:
      return "modelled";
  }
  return "unknown";
}

DeviceId Machine::host() const {
  const DeviceId host = FindDevice("CPU:0");
  LANESCOPE_CHECK(host.exists());
  return host;
}

DeviceId Machine::FindDevice(std::string_view device_name) const {
  DeviceName wanted;
  if (!ParseLocalDeviceName(device_name, &wanted) && !ParseDeviceName(device_name, &wanted))
    return DeviceId();
  if (!wanted.has_type || !wanted.has_id) return DeviceId();
  for (const DeviceId i : devices.ids()) {
    if (Matches(wanted, device(i).parsed)) return i;
  }
  return DeviceId();
}

std::vector<DeviceId> Machine::Gpus() const {
  std::vector<DeviceId> gpus;
  for (const DeviceId i : devices.ids()) {
    if (device(i).is_gpu()) gpus.push_back(i);
  }
  // The first GPU of each task, in the order of the file.
  const auto same_task = [this](DeviceId a, DeviceId b) {
    return IsSameAddressSpace(device(a).parsed, device(b).parsed);
  };
  for (auto begin = gpus.begin(); begin != gpus.end();) {
    const auto end = std::stable_partition(
        begin, gpus.end(), [&, first = *begin](DeviceId gpu) { return same_task(first, gpu); });
    std::stable_sort(begin, end,
                     [this](DeviceId a, DeviceId b) { return device(a).parsed.id < device(b).parsed.id; });
    begin = end;
  }
  return gpus;
}

double Machine::ResourceBandwidth(int resource) const {
  LANESCOPE_CHECK(resource >= 0 && resource < num_resources());
  if (resource >= num_listed_resources())
    return cluster->ResourceBandwidth(resource - num_listed_resources());
  const auto index = static_cast<size_t>(resource), first_nic = 2 * links.size() + buses.size();
  if (index >= first_nic) return nics[(index - first_nic) / 2].bandwidth;
  return index < 2 * links.size() ? links[index / 2].bandwidth : buses[index - 2 * links.size()].bandwidth;
}

std::string Machine::ResourceName(int resource) const {
  LANESCOPE_CHECK(resource >= 0 && resource < num_resources());
  if (resource >= num_listed_resources()) return cluster->ResourceName(resource - num_listed_resources());
  const auto index = static_cast<size_t>(resource), first_nic = 2 * links.size() + buses.size();
  if (index >= first_nic) {
    return fmt::format("NIC of {}, {}", device(nics[(index - first_nic) / 2].hosts.front()).local_name(),
                       (index - first_nic) % 2 == 0 ? "out" : "in");
  }
  if (index >= 2 * links.size()) return buses[index - 2 * links.size()].name;
  const LinkSpec& link = links[index / 2];
  const bool backwards = index % 2 == 1;
  return fmt::format("{} {} {}", device(backwards ? link.b : link.a).local_name(), link.duplex ? "->" : "<->",
                     device(backwards ? link.a : link.b).local_name());
}

bool IsLinked(const Machine& machine, DeviceId a, DeviceId b) {
  return FindLink(machine, a, b) >= 0 || WayInCluster(machine, a, b).has_value();
}

Route Machine::RouteBetween(DeviceId src, DeviceId dst) const {
  LANESCOPE_CHECK(devices.Contains(src) && devices.Contains(dst));
  Route route;
  if (src == dst) {
    route.bandwidth = device(src).memory_bandwidth;
    return route;
  }
  if (const auto way = WayInCluster(*this, src, dst)) {
    for (const int resource : way->resources) route.resources.push_back(num_listed_resources() + resource);
    route.latency_ns = way->latency_ns;
  } else if (const int direct = FindLink(*this, src, dst); direct >= 0) {
    AddHop(*this, direct, src, &route);
    route.link = direct;
  } else if (auto staged = StagedRoute(*this, src, dst)) {
    route = *std::move(staged);
  } else {
    const bool one_task = IsSameAddressSpace(device(src).parsed, device(dst).parsed);
    Throw(Code::kNotFound,
          "no route from {} to {}: machine.links has neither a link of the two nor one of "
          "each to CPU:0{}; add one",
          device(src).local_name(), device(dst).local_name(),
          one_task ? "" : " of its task and one between those");
  }
  route.bandwidth = ResourceBandwidth(route.resources.front());
  for (const int resource : route.resources) {
    route.bandwidth = std::min(route.bandwidth, ResourceBandwidth(resource));
  }
  return route;
}

Machine VirtualMachine(int gpus, int workers) {
  if (gpus < 0 || gpus > 64) {
    Throw(Code::kInvalidArgument, "{} virtual GPUs: ask for 0 to 64", gpus);
  }
  if (workers < 1 || workers > 1024) {
    Throw(Code::kInvalidArgument, "{} workers for a virtual GPU: ask for 1 to 1024", workers);
  }
  Machine machine;
  machine.name = fmt::format("{} virtual GPUs", gpus);
  machine.devices.Add(MakeDevice("CPU:0", DeviceKind::kHost, int64_t{16} << 30, 1));
  for (int i = 0; i < gpus; ++i) {
    machine.devices.Add(
        MakeDevice(fmt::format("GPU:{}", i), DeviceKind::kVirtual, int64_t{2} << 30, workers));
  }
  // Slow enough to be paced on a host whose memcpy reaches some 10 GB/s and whose timers are late by 50 us.
  for (const DeviceId a : machine.devices.ids()) {
    for (DeviceId b(a.number() + 1); machine.devices.Contains(b); ++b) {
      LinkSpec link;
      link.a = a;
      link.b = b;
      link.bandwidth = 8e9;
      link.latency_ns = 60000;
      machine.links.push_back(link);
    }
  }
  return machine;
}

}  // namespace lanescope
