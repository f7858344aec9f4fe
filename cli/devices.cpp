#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/workload.h"
#include "exec/measure.h"
#include "exec/pacer.h"

namespace lanescope::cli {
namespace {

struct Options {
  MachineOptions machine;
  bool json = false;
  bool measure = false;
};

void PrintTable(const Machine& machine) {
  size_t model = 16;
  for (const DeviceSpec& device : machine.devices) model = std::max(model, device.model.size());
  fmt::print("{:<8} {:<9} {:<{}} {:>10} {:>8} {:>13}\n", "Device", "Kind", "Model", model, "Memory",
             "Workers", "Copy engines");
  for (const DeviceSpec& device : machine.devices) {
    fmt::print("{:<8} {:<9} {:<{}} {:>10} {:>8} {:>13}\n", device.local_name(), DeviceKindName(device.kind),
               device.model, model, device.memory_bytes > 0 ? FormatBytes(device.memory_bytes) : "unlimited",
               device.workers, device.is_gpu() ? std::to_string(device.copy_engines) : "-");
  }
  fmt::print("\n{:<18} {:>12} {:>10}  {}\n", "Link", "Bandwidth", "Latency", "Note");
  for (const LinkSpec& link : machine.links) {
    std::string note = link.bus >= 0 ? "shares " + machine.buses[static_cast<size_t>(link.bus)].name : "";
    const auto emulated = [&](int d) {
      return machine.device(d).kind == DeviceKind::kVirtual || machine.device(d).kind == DeviceKind::kHost;
    };
    if (emulated(link.a) && emulated(link.b)) {
      const std::string limit = exec::EmulationLimit(machine.RouteBetween(link.a, link.b));
      note += (note.empty() ? "" : "; ") +
              (limit.empty() ? std::string("emulated") : "not emulable here: " + limit);
    }
    fmt::print("{:<18} {:>12} {:>10}  {}\n",
               machine.device(link.a).local_name() + (link.duplex ? " <-> " : " --- ") +
                   machine.device(link.b).local_name(),
               FormatBandwidth(link.bandwidth), FormatDuration(link.latency_ns), note);
  }
}

// Writes what was measured into the machine: rates of the host-made devices and a size-to-time table per
// link.
exec::HostMeasurement Measure(Machine* machine) {
  const exec::HostMeasurement host = exec::MeasureHost(*machine);
  for (DeviceSpec& device : machine->devices) {
    if (device.kind != DeviceKind::kHost && device.kind != DeviceKind::kVirtual) continue;
    device.peak_flops[DataType::kFloat] = host.flops_per_second * device.workers;
    device.memory_bandwidth = host.bytes_per_second;
  }
  for (LinkSpec& link : machine->links) link.table.clear();
  for (const exec::LinkTime& time : exec::MeasureLinks(*machine, 4 << 20)) {
    for (LinkSpec& link : machine->links) {
      if (link.a == time.src && link.b == time.dst) link.table.emplace_back(time.bytes, time.ns);
    }
  }
  return host;
}

void PrintInterference(const exec::HostMeasurement& host) {
  static constexpr const char* kNames[] = {"compute", "memory", "copy"};
  fmt::print("\nTime beside other work, as a multiple of the time alone ({} cores)\n{:<10}", host.cores, "");
  for (const char* name : kNames) fmt::print(" {:>12}", std::string("beside ") + name);
  fmt::print("\n");
  for (size_t v = 0; v < exec::kNumLoadClasses; ++v) {
    fmt::print("{:<10}", kNames[v]);
    for (const double factor : host.slowdown[v]) fmt::print(" {:>12.2f}", factor);
    fmt::print("\n");
  }
}

void Run(const Options& options) {
  Machine machine = options.machine.Load();
  exec::HostMeasurement host;
  if (options.measure) host = Measure(&machine);
  if (options.json) {
    fmt::print("{}\n", MachineToJson(machine));
    return;
  }
  PrintTable(machine);
  if (options.machine.file.empty()) {
    fmt::print(
        "\nNo physical GPU: this build has no CUDA backend. Virtual GPUs are host threads with memory of "
        "their own.\n");
  }
  if (!options.measure) return;
  fmt::print("\nMeasured, one worker: {:.1f} GFLOP/s float32, {}\n", host.flops_per_second / 1e9,
             FormatBandwidth(host.bytes_per_second));
  PrintInterference(host);
}

}  // namespace

void AddDevices(CLI::App* app) {
  auto* command =
      app->add_subcommand("devices", "List devices and links of this machine or of a machine file");
  auto options = std::make_shared<Options>();
  options->machine.Add(command);
  command->add_flag("--measure", options->measure, "Measure rates, links and interference");
  command->add_flag("--json", options->json, "Print a machine file");
  command->callback([options] { Run(*options); });
}

}  // namespace lanescope::cli
