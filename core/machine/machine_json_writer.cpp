// SPDX-License-Identifier: Apache-2.0
// Machine to a machine file.
#include "core/machine/machine_field.h"

namespace lanescope {
namespace machine_file {

Json DeviceBodyToJson(const DeviceSpec& device) {
  Json json = {{"kind", DeviceKindName(device.kind)}};
  if (!device.model.empty()) json["model"] = device.model;
  json["memory"] = ExactBytes(device.memory_bytes);
  json["workers"] = device.workers;
  json["copy_engines"] = device.copy_engines;
  json["queue"] = device.in_order ? "in-order" : "ready-first";
  for (const auto& [dtype, rate] : device.peak_flops) json["peak"][NumpyName(dtype)] = ExactFlopRate(rate);
  if (device.tf32_flops > 0) json["peak"]["tf32"] = ExactFlopRate(device.tf32_flops);
  if (device.float8_flops > 0) json["peak"]["float8"] = ExactFlopRate(device.float8_flops);
  if (device.memory_bandwidth > 0) json["memory_bandwidth"] = ExactBandwidth(device.memory_bandwidth);
  if (!device.rates.empty()) json["rates"] = device.rates;
  json["launch"] = ExactDuration(device.launch_ns);
  if (device.physical >= 0) json["physical"] = device.physical;
  if (device.kind == DeviceKind::kLogical) json["sm_share"] = device.sm_share;
  if (device.multiprocessors > 0) json["multiprocessors"] = device.multiprocessors;
  if (device.stream_priority != 0) json["stream_priority"] = device.stream_priority;
  return json;
}

}  // namespace machine_file

namespace {

using machine_file::Json;

Json DeviceToJson(const DeviceSpec& device) {
  Json json = {{"name", device.local_name()}};
  json.update(machine_file::DeviceBodyToJson(device));
  return json;
}

Json NicToJson(const Machine& machine, const NicSpec& nic) {
  Json json = {{"tasks", Json::array()}, {"bandwidth", ExactBandwidth(nic.bandwidth)}};
  for (const DeviceId host : nic.hosts) {
    DeviceName task = machine.device(host).parsed;
    task.has_type = task.has_id = false;
    json["tasks"].push_back(task.ToString());
  }
  return json;
}

Json LinkToJson(const Machine& machine, const LinkSpec& link) {
  Json json = {{"between", {machine.device(link.a).local_name(), machine.device(link.b).local_name()}},
               {"bandwidth", ExactBandwidth(link.bandwidth)},
               {"latency", ExactDuration(link.latency_ns)},
               {"duplex", link.duplex}};
  if (link.bus >= 0) json["bus"] = machine.buses[static_cast<size_t>(link.bus)].name;
  for (const auto& [bytes, ns] : link.table) json["table"].push_back({ExactBytes(bytes), ExactDuration(ns)});
  return json;
}

}  // namespace

std::string MachineToJson(const Machine& machine) {
  Json json = {{"name", machine.name}, {"devices", Json::array()}, {"links", Json::array()}};
  const DeviceId listed = machine.cluster ? machine.first_clustered : machine.devices.next_id();
  for (DeviceId d{0}; d < listed; ++d) json["devices"].push_back(DeviceToJson(machine.devices[d]));
  for (const LinkSpec& link : machine.links) json["links"].push_back(LinkToJson(machine, link));
  for (const BusSpec& bus : machine.buses) {
    json["buses"].push_back({{"name", bus.name}, {"bandwidth", ExactBandwidth(bus.bandwidth)}});
  }
  for (const NicSpec& nic : machine.nics) json["nics"].push_back(NicToJson(machine, nic));
  if (machine.cluster) json["cluster"] = machine_file::ClusterToJson(machine);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lanescope
