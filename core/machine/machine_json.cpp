// SPDX-License-Identifier: Apache-2.0
// Machine files to Machine. Every value is checked, and every error names the field it is in.
#include <set>

#include "core/base/file.h"
#include "core/base/json_object.h"
#include "core/base/processors.h"
#include "core/machine/machine_field.h"

namespace lanescope {
namespace machine_file {
namespace {

constexpr int kMaxWorkers = 1024;
constexpr int kWorkersNotSaid = 0;  // of a host, until all devices are there

// JSON keeps the last of two equal keys silently; here they are an error.
Json ParseWithoutDuplicates(std::string_view text) {
  std::vector<std::set<std::string>> open_objects;
  std::string duplicate;
  const auto callback = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second &&
        duplicate.empty()) {
      duplicate = parsed.get<std::string>();
    }
    return true;
  };
  if (text.size() > kMaxMachineBytes) {
    Throw(Code::kInvalidArgument, "machine: the file has {} bytes; at most {} are accepted", text.size(),
          kMaxMachineBytes);
  }
  Json json;
  try {
    json = Json::parse(text, callback);
  } catch (const nlohmann::json::exception& error) {
    Throw(Code::kInvalidArgument, "machine: not JSON: {}", JsonErrorText(error));
  }
  if (!duplicate.empty()) Throw(Code::kInvalidArgument, "machine: the key '{}' stands twice", duplicate);
  return json;
}

// "GPU:0", or with its task: "/job:worker/task:1/GPU:0".
void ReadName(const Field& field, DeviceSpec* device) {
  const std::string text = field.String();
  DeviceName name;
  if (ParseLocalDeviceName(text, &name)) {
    ParseDeviceName(fmt::format("{}/device:{}", kLocalTask, name.LocalName()), &name);
  } else if (!ParseDeviceName(text, &name) || !name.has_job || !name.has_task || !name.has_type ||
             !name.has_id) {
    field.Fail("'{}' is no device name: write 'GPU:0' or '/job:worker/task:1/GPU:0'", text);
  }
  name.has_replica = true;  // 0 where it is not said
  if (name.type != "CPU" && name.type != "GPU") {
    field.Fail("'{}' is neither a CPU nor a GPU", text);
  }
  device->parsed = name;
  device->name = name.ToString();
}

DeviceKind ReadKind(const Field& field, bool is_cpu) {
  const std::string text = field.String();
  for (const DeviceKind kind : {DeviceKind::kHost, DeviceKind::kVirtual, DeviceKind::kCuda,
                                DeviceKind::kLogical, DeviceKind::kModelled}) {
    if (DeviceKindName(kind) != text) continue;
    if ((kind == DeviceKind::kHost) != is_cpu) field.Fail("a CPU is of kind host, a GPU of any other kind");
    return kind;
  }
  field.Fail("'{}' is none of host, virtual, cuda, logical, modelled", text);
}

bool ReadQueue(const Field& field) {
  const std::string text = field.String();
  if (text != "ready-first" && text != "in-order")
    field.Fail("'{}' is neither ready-first nor in-order", text);
  return text == "in-order";
}

// The queues of a physical GPU are streams.
void ReadQueueOrder(const Field& field, DeviceSpec* device) {
  device->in_order = device->is_hardware();
  if (!field.Has("queue")) return;
  device->in_order = ReadQueue(field["queue"]);
  if (device->is_hardware() && !device->in_order)
    field["queue"].Fail("a device of kind cuda or logical is in-order");
}

void ReadPeak(const Field& field, DeviceSpec* device) {
  for (const auto& [name, rate] : field.Members()) {
    const double flops = rate.Quantity(&ParseFlopRate, kMaxFlops, false);
    if (name == "tf32" || name == "float8") {
      (name == "tf32" ? device->tf32_flops : device->float8_flops) = flops;
      continue;
    }
    const DataType dtype = ParseDataType(name);
    if (dtype == DataType::kInvalid) rate.Fail("unknown element type");
    if (!device->peak_flops.emplace(dtype, flops).second) {
      rate.Fail("the element type stands twice");
    }
  }
}

// Reads the fields that only some kinds of device have.
void ReadHardware(const Field& field, DeviceSpec* device) {
  if (field.Has("physical")) {
    if (!device->is_hardware())
      field["physical"].Fail("only a device of kind cuda or logical has a physical GPU");
    device->physical = static_cast<int>(field["physical"].Integer(0, 1023));
  } else if (device->is_hardware()) {
    field["physical"];  // throws: missing
  }
  if (field.Has("sm_share")) {
    if (device->kind != DeviceKind::kLogical) field["sm_share"].Fail("only a logical device has a share");
    device->sm_share = field["sm_share"].Number(0, 1);
  }
  if (field.Has("multiprocessors")) {
    if (!device->is_gpu()) field["multiprocessors"].Fail("only a GPU has multiprocessors");
    device->multiprocessors = static_cast<int>(field["multiprocessors"].Integer(1, 1 << 20));
  }
  if (field.Has("stream_priority"))
    device->stream_priority = static_cast<int>(field["stream_priority"].Integer(-100, 100));
}

DeviceSpec ReadDevice(const Field& field) {
  field.RequireObject({"name", "kind", "model", "memory", "workers", "copy_engines", "queue", "peak",
                       "memory_bandwidth", "rates", "launch", "physical", "sm_share", "multiprocessors",
                       "stream_priority"});
  DeviceSpec device;
  ReadName(field["name"], &device);
  ReadDeviceBody(field, &device);
  return device;
}

// A physical GPU is one device, or several logical ones.
void CheckPhysical(const Field& element, const DeviceSpec& device,
                   const IdVector<DeviceId, DeviceSpec>& others) {
  if (device.physical < 0) return;
  double share = device.sm_share;
  for (const DeviceSpec& other : others) {
    if (other.physical != device.physical || !IsSameAddressSpace(other.parsed, device.parsed)) continue;
    share += other.sm_share;
    if (other.kind != DeviceKind::kLogical || device.kind != DeviceKind::kLogical) {
      element["physical"].Fail("physical GPU {} is {} already; parts of one GPU are of kind logical",
                               device.physical, other.local_name());
    }
  }
  if (share > 1.000001) element["sm_share"].Fail("the shares of GPU {} sum to more than 1", device.physical);
}

void ReadDevices(const Field& field, Machine* machine) {
  for (const Field& element : field.Elements(kMaxDevices)) {
    DeviceSpec device = ReadDevice(element);
    for (const DeviceSpec& other : machine->devices) {
      if (other.name == device.name) element["name"].Fail("the device '{}' stands twice", device.name);
    }
    CheckPhysical(element, device, machine->devices);
    machine->devices.Add(std::move(device));
  }
}

// A host that stands beside physical GPUs is of this computer.
void SetHostWorkers(Machine* machine) {
  for (DeviceSpec& host : machine->devices) {
    if (host.workers > 0) continue;
    const bool is_here = std::ranges::any_of(machine->devices, [&](const DeviceSpec& device) {
      return device.is_hardware() && IsSameAddressSpace(device.parsed, host.parsed);
    });
    host.workers = is_here ? std::min(NumProcessors(), kMaxWorkers) : 1;
  }
}

// Every task has a host; one that the file does not describe gets one of default size.
void EnsureHosts(Machine* machine) {
  std::vector<std::string> without;
  for (const DeviceSpec& device : machine->devices) {
    DeviceName host = device.parsed;
    host.type = "CPU";
    host.id = 0;
    without.push_back(host.ToString());
  }
  if (without.empty()) without.push_back(std::string(kLocalTask) + "/device:CPU:0");
  for (const std::string& name : without) {
    if (machine->FindDevice(name).exists()) continue;
    DeviceSpec host;
    host.name = name;
    ParseDeviceName(host.name, &host.parsed);
    host.kind = DeviceKind::kHost;
    host.memory_bytes = kDefaultHostMemory;
    host.workers = kWorkersNotSaid;
    machine->devices.Add(std::move(host));
  }
}

void ReadBuses(const Field& field, Machine* machine) {
  for (const Field& element : field.Elements(kMaxBuses)) {
    element.RequireObject({"name", "bandwidth"});
    BusSpec bus;
    bus.name = element["name"].String();
    if (bus.name.empty()) element["name"].Fail("must not be empty");
    bus.bandwidth = element["bandwidth"].Quantity(&ParseBandwidth, kMaxBandwidth, false);
    for (const BusSpec& other : machine->buses) {
      if (other.name == bus.name) element["name"].Fail("the bus '{}' stands twice", bus.name);
    }
    machine->buses.push_back(std::move(bus));
  }
}

DeviceId ReadTaskReference(const Field& field, const Machine& machine) {
  const std::string name = field.String();
  DeviceName task;
  const bool is_task = ParseDeviceName(name, &task) && task.has_task && !task.has_type;
  const DeviceId host = is_task ? machine.FindDevice(name + "/device:CPU:0") : DeviceId();
  if (!host.exists()) field.Fail("no task '{}' in machine.devices", name);
  return host;
}

void ReadNics(const Field& field, Machine* machine) {
  std::set<DeviceId> with_nic;
  for (const Field& element : field.Elements(kMaxNics)) {
    element.RequireObject({"tasks", "bandwidth"});
    NicSpec nic;
    for (const Field& task : element["tasks"].Elements(kMaxNics)) {
      nic.hosts.push_back(ReadTaskReference(task, *machine));
      if (!with_nic.insert(nic.hosts.back()).second) task.Fail("the task has a network interface already");
    }
    if (nic.hosts.empty()) element["tasks"].Fail("must name a task");
    nic.bandwidth = element["bandwidth"].Quantity(&ParseBandwidth, kMaxBandwidth, false);
    machine->nics.push_back(std::move(nic));
  }
}

int ReadBusReference(const Field& field, const Machine& machine) {
  const std::string name = field.String();
  for (size_t i = 0; i < machine.buses.size(); ++i) {
    if (machine.buses[i].name == name) return static_cast<int>(i);
  }
  field.Fail("no bus '{}' in machine.buses", name);
}

DeviceId ReadEnd(const Field& field, const Machine& machine) {
  const std::string name = field.String();
  const DeviceId device = machine.FindDevice(name);
  if (!device.exists()) field.Fail("no device '{}' in machine.devices", name);
  return device;
}

LinkSpec ReadLink(const Field& field, const Machine& machine) {
  field.RequireObject({"between", "bandwidth", "latency", "duplex", "bus", "table"});
  const std::vector<Field> ends = field["between"].Elements(2);
  if (ends.size() != 2) field["between"].Fail("must name two devices");
  LinkSpec link;
  link.a = ReadEnd(ends[0], machine);
  link.b = ReadEnd(ends[1], machine);
  if (link.a == link.b) field["between"].Fail("a link joins two different devices");
  link.bandwidth = field["bandwidth"].Quantity(&ParseBandwidth, kMaxBandwidth, false);
  if (field.Has("latency")) link.latency_ns = field["latency"].Quantity(&ParseDuration, kMaxDuration, true);
  if (field.Has("duplex")) link.duplex = field["duplex"].Bool();
  if (field.Has("bus")) link.bus = ReadBusReference(field["bus"], machine);
  if (field.Has("table")) link.table = ReadTable(field["table"]);
  return link;
}

void ReadLinks(const Field& field, Machine* machine) {
  std::set<std::pair<DeviceId, DeviceId>> pairs;
  for (const Field& element : field.Elements(kMaxLinks)) {
    LinkSpec link = ReadLink(element, *machine);
    if (!pairs.insert(std::minmax(link.a, link.b)).second) {
      element["between"].Fail("the two devices are linked already");
    }
    machine->links.push_back(std::move(link));
  }
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> ReadTable(const Field& field) {
  std::vector<std::pair<int64_t, int64_t>> table;
  for (const Field& row : field.Elements(kMaxTableRows)) {
    const std::vector<Field> cells = row.Elements(2);
    if (cells.size() != 2) row.Fail("must be a size and a duration");
    const int64_t bytes = cells[0].Quantity(&ParseBytes, kMaxMemory, true);
    const int64_t ns = cells[1].Quantity(&ParseDuration, kMaxDuration, true);
    if (!table.empty() && (bytes <= table.back().first || ns < table.back().second)) {
      row.Fail("sizes must ascend, and durations must not descend");
    }
    table.emplace_back(bytes, ns);
  }
  return table;
}

void ReadDeviceBody(const Field& field, DeviceSpec* device) {
  const bool is_cpu = device->parsed.type == "CPU";
  device->kind = is_cpu ? DeviceKind::kHost : DeviceKind::kVirtual;
  if (field.Has("kind")) device->kind = ReadKind(field["kind"], is_cpu);
  if (field.Has("model")) device->model = field["model"].String();
  if (is_cpu && !field.Has("memory")) {
    device->memory_bytes = kDefaultHostMemory;
  } else {
    device->memory_bytes = field["memory"].Quantity(&ParseBytes, kMaxMemory, false);
  }
  if (is_cpu) device->workers = kWorkersNotSaid;
  if (field.Has("workers")) device->workers = static_cast<int>(field["workers"].Integer(1, kMaxWorkers));
  if (field.Has("copy_engines")) device->copy_engines = static_cast<int>(field["copy_engines"].Integer(1, 2));
  ReadQueueOrder(field, device);
  if (field.Has("peak")) ReadPeak(field["peak"], device);
  if (field.Has("memory_bandwidth")) {
    device->memory_bandwidth = field["memory_bandwidth"].Quantity(&ParseBandwidth, kMaxBandwidth, false);
  }
  if (field.Has("rates")) device->rates = field["rates"].String();
  if (field.Has("launch")) device->launch_ns = field["launch"].Quantity(&ParseDuration, kMaxDuration, true);
  ReadHardware(field, device);
}

}  // namespace machine_file

Machine ParseMachine(std::string_view text) {
  using namespace machine_file;
  const Json json = ParseWithoutDuplicates(text);
  const Field root(json, "machine");
  root.RequireObject({"name", "devices", "links", "buses", "nics", "cluster"});
  Machine machine;
  if (root.Has("name")) machine.name = root["name"].String();
  if (root.Has("devices") || !root.Has("cluster")) ReadDevices(root["devices"], &machine);
  EnsureHosts(&machine);
  SetHostWorkers(&machine);
  if (root.Has("cluster")) ReadCluster(root["cluster"], &machine);
  if (root.Has("buses")) ReadBuses(root["buses"], &machine);
  if (root.Has("links")) ReadLinks(root["links"], &machine);
  if (root.Has("nics")) ReadNics(root["nics"], &machine);
  return machine;
}

Machine ReadMachine(const std::string& path) {
  const std::string text = ReadFile(path, machine_file::kMaxMachineBytes);
  try {
    return ParseMachine(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.message()));
  }
}

}  // namespace lanescope
