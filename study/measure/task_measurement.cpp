// SPDX-License-Identifier: Apache-2.0
#include "study/measure/task_measurement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "core/machine/machine_part.h"
#include "core/machine/tasks.h"
#include "study/base/json_text.h"
#include "study/job/serving.h"
#include "study/job/this_machine.h"
#include "study/measure/measuring_turns.h"

namespace lanescope::study {
namespace {

using nlohmann::json;

json LinksJson(const std::vector<exec::LinkTime>& times) {
  json rows = json::array();
  for (const exec::LinkTime& time : times)
    rows.push_back({time.src.number(), time.dst.number(), time.bytes, time.ns});
  return rows;
}

std::vector<exec::LinkTime> LinksOf(const json& rows) {
  std::vector<exec::LinkTime> times;
  for (const json& row : rows)
    times.push_back({DeviceId(row.at(0).get<int>()), DeviceId(row.at(1).get<int>()), row.at(2), row.at(3)});
  return times;
}

json HostJson(const exec::HostMeasurement& host) {
  return {{"cores", host.cores},       {"flops", host.flops_per_second}, {"bytes", host.bytes_per_second},
          {"slowdown", host.slowdown}, {"slice_ns", host.slice_ns},      {"copy_cores", host.copy_cores}};
}

exec::HostMeasurement HostOf(const json& text) {
  exec::HostMeasurement host;
  text.at("cores").get_to(host.cores);
  text.at("flops").get_to(host.flops_per_second);
  text.at("bytes").get_to(host.bytes_per_second);
  text.at("slowdown").get_to(host.slowdown);
  text.at("slice_ns").get_to(host.slice_ns);
  text.at("copy_cores").get_to(host.copy_cores);
  return host;
}

std::string TextOf(const TaskMeasurement& task) {
  json text = {{"part", MachineToJson(task.part)},
               {"links", LinksJson(task.gpus.links)},
               {"links_busy", LinksJson(task.gpus.links_busy)},
               {"within", LinksJson(task.gpus.within)},
               {"interference", json::array()},
               {"fetches", json::array()}};
  if (task.host.has_value()) text["host"] = HostJson(*task.host);
  for (const exec::GpuInterference& of : task.gpus.interference)
    text["interference"].push_back({of.gpu, of.slowdown});
  for (const exec::FetchTime& fetch : task.fetches) text["fetches"].push_back({fetch.bytes, fetch.extra_ns});
  return JsonText(text);
}

TaskMeasurement TaskOf(const std::string& measured) {
  const json text = json::parse(measured);
  TaskMeasurement task;
  task.part = ParseMachine(text.at("part").get<std::string>());
  task.gpus.links = LinksOf(text.at("links"));
  task.gpus.links_busy = LinksOf(text.at("links_busy"));
  task.gpus.within = LinksOf(text.at("within"));
  for (const json& row : text.at("interference"))
    task.gpus.interference.push_back({row.at(0), row.at(1).get<SlowdownMatrix>()});
  for (const json& row : text.at("fetches")) task.fetches.push_back({row.at(0), row.at(1)});
  if (text.contains("host")) task.host = HostOf(text["host"]);
  return task;
}

std::vector<DeviceId> DevicesOf(const MachineTasks& tasks, int task) {
  std::vector<DeviceId> devices;
  for (const DeviceId d : tasks.task_of.ids()) {
    if (tasks.task_of[d] == task) devices.push_back(d);
  }
  return devices;
}

// Equal for parts of which the one's measurement is the other's: alike but for the names of task and buses.
// Physical GPUs are alike where they are the same.
std::string KindOf(Machine part) {
  part.name.clear();
  part.nics.clear();
  for (DeviceSpec& device : part.devices)
    device.parsed.has_job = device.parsed.has_replica = device.parsed.has_task = false;
  std::map<int, int> numbers;
  std::vector<BusSpec> buses;
  for (LinkSpec& link : part.links) {
    if (link.bus < 0) continue;
    const auto [found, added] = numbers.try_emplace(link.bus, static_cast<int>(buses.size()));
    if (added)
      buses.push_back({fmt::format("{}", buses.size()), part.buses[static_cast<size_t>(link.bus)].bandwidth});
    link.bus = found->second;
  }
  part.buses = std::move(buses);
  return MachineToJson(part);
}

}  // namespace

std::vector<TaskMeasurement> MeasureTasks(const Machine& machine, exec::Transport* transport,
                                          const std::function<void(TaskMeasurement*)>& measure) {
  RequireTasks(machine, transport);
  const MachineTasks tasks = TasksOf(machine);
  TaskMeasurement own;
  own.part = PartOf(machine, DevicesOf(tasks, transport->rank()));
  const std::vector<MeasuredText> measured = MeasureInTurns(transport, {HostName(), KindOf(own.part)}, [&] {
    measure(&own);
    return TextOf(own);
  });
  std::vector<TaskMeasurement> all;
  for (size_t task = 0; task < measured.size(); ++task) {
    TaskMeasurement& of = all.emplace_back(TaskOf(measured[task].text));
    of.by = measured[task].by;
    of.computer = measured[task].computer;
    of.devices = DevicesOf(tasks, static_cast<int>(task));
    const Machine part = PartOf(machine, of.devices);
    if (part.devices.size() != of.part.devices.size() || part.links.size() != of.part.links.size()) {
      Throw(Code::kFailedPrecondition, "{} has another machine than {}; give all the same",
            transport->NameOf(of.by), transport->NameOf(transport->rank()));
    }
  }
  return all;
}

std::vector<exec::LinkTime> InMachine(const TaskMeasurement& task, std::vector<exec::LinkTime> times) {
  for (exec::LinkTime& time : times) {
    time.src = task.devices.at(static_cast<size_t>(time.src.number()));
    time.dst = task.devices.at(static_cast<size_t>(time.dst.number()));
  }
  return times;
}

void FillIn(const TaskMeasurement& task, Machine* machine) {
  for (size_t i = 0; i < task.devices.size(); ++i) {
    const DeviceSpec& from = task.part.devices[DeviceId(static_cast<int>(i))];
    DeviceSpec& to = machine->devices[task.devices[i]];
    to.peak_flops = from.peak_flops;
    to.memory_bandwidth = from.memory_bandwidth;
    to.rates = from.rates;
    to.launch_ns = from.launch_ns;
  }
  // The part has those of the machine's links that join two of the task's devices, in their order.
  auto from = task.part.links.begin();
  for (LinkSpec& link : machine->links) {
    if (std::ranges::count(task.devices, link.a) == 0 || std::ranges::count(task.devices, link.b) == 0)
      continue;
    link.bandwidth = from->bandwidth;
    link.latency_ns = from->latency_ns;
    link.duplex = from->duplex;
    link.table = (from++)->table;
  }
}

}  // namespace lanescope::study
