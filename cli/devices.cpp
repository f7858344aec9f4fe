// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/line_width.h"
#include "cli/options.h"
#include "cli/print.h"
#include "core/base/file.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/machine/gpu_facts.h"
#include "core/machine/named_cluster.h"
#include "core/machine/tasks.h"
#include "exec/measure/gpu_machine.h"
#include "exec/messages/pacer.h"
#include "study/job/mpi.h"
#include "study/measure/measure_machine.h"

namespace lanescope::cli {
namespace {

struct DevicesOptions {
  MachineOptions machine;
  std::string make, output;
  bool json = false;
  bool measure = false, machines = false;
};

bool IsEmulatedLink(const Machine& machine, const LinkSpec& link) {
  const auto emulated = [&](DeviceId d) { return IsOfHostThreads(machine.device(d).kind); };
  return emulated(link.a) && emulated(link.b);
}

// Copies between two physical GPUs of a task that no link joins pass through pinned host memory.
void AddStaged(const Machine& machine, TextTable* table) {
  const auto gpus = machine.Gpus();
  for (size_t a = 0; a < gpus.size(); ++a) {
    for (size_t b = a + 1; b < gpus.size(); ++b) {
      const DeviceSpec& gpu = machine.device(gpus[a]);
      if (!gpu.is_hardware() || gpu.kind == DeviceKind::kLogical ||
          !IsSameAddressSpace(gpu.parsed, machine.device(gpus[b]).parsed))
        continue;
      const Route route = machine.RouteBetween(gpus[a], gpus[b]);
      if (!route.staged) continue;
      table->Row({gpu.local_name() + " <-> " + machine.device(gpus[b]).local_name(),
                  FormatBandwidth(route.bandwidth), FormatDuration(route.latency_ns),
                  "no peer access: staged through pinned host memory"});
    }
  }
}

// "logical, 0.5 of the multiprocessors".
std::string KindText(const DeviceSpec& device) {
  const std::string kind(DeviceKindName(device.kind));
  if (device.kind != DeviceKind::kLogical || device.sm_share == 0) return kind;
  return fmt::format("{}, {:g} of the multiprocessors", kind, device.sm_share);
}

// One line for all GPUs, and the kinds of links between them.
void AddCluster(const Machine& machine, TextTable* devices, TextTable* links) {
  const Cluster& cluster = *machine.cluster;
  const DeviceSpec& gpu = machine.device(machine.first_clustered);
  devices->Row({fmt::format("GPU:0 to GPU:{}", cluster.num_gpus() - 1), std::string(DeviceKindName(gpu.kind)),
                gpu.model, FormatBytes(gpu.memory_bytes), std::to_string(gpu.workers),
                std::to_string(gpu.copy_engines)});
  links->Row({fmt::format("each GPU <-> switch of its node ({} GPUs)", cluster.gpus_per_node),
              FormatBandwidth(cluster.switch_bandwidth), FormatDuration(cluster.switch_latency_ns), ""});
  links->Row({fmt::format("each of {} ports of {} nodes <-> {}", cluster.nics_per_node, cluster.nodes,
                          NetworkKindName(cluster.network)),
              FormatBandwidth(cluster.nic_bandwidth), FormatDuration(cluster.nic_latency_ns),
              fmt::format("and {} a switch; {}", FormatDuration(cluster.hop_latency_ns),
                          cluster.oversubscription > 1
                              ? fmt::format("leaf switches {:g}:1 oversubscribed", cluster.oversubscription)
                              : "full bisection")});
  links->Row({"each GPU <-> CPU:0", FormatBandwidth(cluster.host_bandwidth),
              FormatDuration(cluster.host_latency_ns), ""});
}

void PrintTable(const Machine& machine) {
  TextTable devices;
  devices.Text("Device").Text("Kind").Name("Model").Number("Memory").Number("Workers").Number("Copy engines");
  for (const DeviceSpec& device : machine.devices) {
    if (machine.cluster && device.is_gpu()) continue;
    devices.Row({device.local_name(), KindText(device), device.model,
                 device.memory_bytes > 0 ? FormatBytes(device.memory_bytes) : "unlimited",
                 std::to_string(device.workers),
                 device.is_gpu() ? std::to_string(device.copy_engines) : "-"});
  }
  TextTable links;
  links.Text("Link").Number("Bandwidth").Number("Latency").Name("Note");
  for (const LinkSpec& link : machine.links) {
    std::string note = link.bus >= 0 ? "shares " + machine.buses[static_cast<size_t>(link.bus)].name : "";
    if (IsEmulatedLink(machine, link)) {
      const std::string limit = exec::EmulationLimit(machine.RouteBetween(link.a, link.b));
      note += (note.empty() ? "" : "; ") +
              (limit.empty() ? std::string("emulated") : "not emulable here: " + limit);
    }
    links.Row({machine.device(link.a).local_name() + (link.duplex ? " <-> " : " --- ") +
                   machine.device(link.b).local_name(),
               FormatBandwidth(link.bandwidth), FormatDuration(link.latency_ns), note});
  }
  for (const NicSpec& nic : machine.nics) {
    std::string tasks;
    for (const DeviceId host : nic.hosts)
      tasks += (tasks.empty() ? "" : ", ") + machine.device(host).local_name();
    links.Row({tasks + " <-> network", FormatBandwidth(nic.bandwidth), "", "each way"});
  }
  machine.cluster ? AddCluster(machine, &devices, &links) : AddStaged(machine, &links);
  PrintText(devices.Take(LineWidth()));
  if (!links.empty()) PrintText("\n" + links.Take(LineWidth()));
}

// Multiprocessors of a device that has them to itself, or shares them with the other parts of its GPU.
std::string MultiprocessorsText(const DeviceSpec& device) {
  if (device.multiprocessors == 0) return "-";
  const bool shares = device.kind == DeviceKind::kLogical && device.sm_share == 0;
  return fmt::format("{}{}", device.multiprocessors, shares ? " shared" : "");
}

// Peaks by element type, those of products with smaller factors, memory; and where the figures come from.
void PrintRates(const Machine& machine) {
  std::map<std::string, std::map<DeviceId, double>> peaks;  // by name: of the devices that have it
  std::vector<DeviceId> rated;
  for (const DeviceId d : machine.devices.ids()) {
    const DeviceSpec& device = machine.device(d);
    if (machine.cluster && device.is_gpu() && d != machine.first_clustered) continue;
    for (const auto& [dtype, flops] : device.peak_flops) peaks[NumpyName(dtype)][d] = flops;
    if (device.tf32_flops > 0) peaks["tf32"][d] = device.tf32_flops;
    if (device.float8_flops > 0) peaks["float8"][d] = device.float8_flops;
    const bool has_rates = std::ranges::any_of(peaks, [&](const auto& of) { return of.second.contains(d); });
    if (has_rates || device.memory_bandwidth > 0 || device.multiprocessors > 0) rated.push_back(d);
  }
  if (rated.empty()) return;
  TextTable table;
  table.Text("Rates").Number("Multiprocessors").Number("Memory").Group("Peak, TFLOP/s");
  for (const auto& [name, of] : peaks) table.Number(name);
  table.Group("").Name("From");
  for (const DeviceId d : rated) {
    const DeviceSpec& device = machine.device(d);
    std::vector<std::string> row = {
        device.local_name(), MultiprocessorsText(device),
        device.memory_bandwidth > 0 ? FormatBandwidth(device.memory_bandwidth) : "-"};
    for (const auto& [name, of] : peaks)
      row.push_back(of.contains(d) ? fmt::format("{:.3g}", of.at(d) / 1e12) : "-");
    row.push_back(!device.rates.empty() ? device.rates : "the machine file");
    table.Row(std::move(row));
  }
  PrintText("\n" + table.Take(LineWidth()));
}

void PrintInterference(const std::string& where, const SlowdownMatrix& slowdown) {
  static constexpr const char* kNames[] = {"compute", "memory", "copy"};
  TextTable table;
  table.Text("");
  for (const char* name : kNames) table.Number(std::string("beside ") + name);
  for (size_t v = 0; v < kNumWorkClasses; ++v) {
    std::vector<std::string> row = {kNames[v]};
    for (const double factor : slowdown[v]) row.push_back(fmt::format("{:.2f}", factor));
    table.Row(std::move(row));
  }
  Print("\nTime beside other work, as a multiple of the time alone ({})\n", where);
  PrintText(table.Take(LineWidth()));
}

void AddCopies(const Machine& machine, const std::vector<exec::LinkTime>& times, const std::string& note,
               TextTable* table) {
  for (const exec::LinkTime& time : times) {
    const double rate =
        1e9 * static_cast<double>(time.bytes) / static_cast<double>(std::max<int64_t>(1, time.ns));
    table->Row({machine.device(time.src).local_name() + " -> " + machine.device(time.dst).local_name(),
                FormatBytes(time.bytes), FormatDuration(time.ns), FormatBandwidth(rate), note});
  }
}

void PrintMeasured(const Machine& machine, const study::MeasuredRates& measured) {
  for (const study::MeasuredHost& host : measured.hosts) {
    Print("\nMeasured{}, one worker: {:.1f} GFLOP/s float32, {}\n",
          host.where.empty() ? "" : " by " + host.where, host.measured.flops_per_second / 1e9,
          FormatBandwidth(host.measured.bytes_per_second));
    PrintInterference(fmt::format("{} cores", host.measured.cores), host.measured.slowdown);
  }
  if (!measured.gpus.has_value()) return;
  Print("\nMeasured\n");
  for (const DeviceSpec& device : machine.devices) {
    const auto peak = device.peak_flops.find(DataType::kFloat);
    if (!device.is_hardware() || peak == device.peak_flops.end()) continue;
    Print("{:<8} {:.1f} TFLOP/s float32 product, {} copying kernel\n", device.local_name(),
          peak->second / 1e12, FormatBandwidth(device.memory_bandwidth));
  }
  TextTable copies;
  copies.Text("Copy").Number("Size").Number("Time").Number("Rate").Name("Note");
  AddCopies(machine, measured.gpus->links, "", &copies);
  AddCopies(machine, measured.gpus->links_busy, "both directions at the same time", &copies);
  AddCopies(machine, measured.gpus->within, "within the device", &copies);
  PrintText("\n" + copies.Take(LineWidth()));
  for (const exec::GpuInterference& of_gpu : measured.gpus->interference)
    PrintInterference(of_gpu.gpu, of_gpu.slowdown);
}

void PrintNetwork(const Machine& machine, const std::vector<exec::MessageTime>& times) {
  if (times.empty()) return;
  const MachineTasks tasks = TasksOf(machine);
  TextTable table;
  table.Text("Message").Number("Size").Number("Time").Number("Rate").Number("Both ways at once");
  for (const exec::MessageTime& time : times) {
    const double rate =
        1e9 * static_cast<double>(time.bytes) / static_cast<double>(std::max<int64_t>(1, time.ns));
    table.Row(
        {tasks.names[static_cast<size_t>(time.from)] + " <-> " + tasks.names[static_cast<size_t>(time.to)],
         FormatBytes(time.bytes), FormatDuration(time.ns), FormatBandwidth(rate),
         FormatDuration(time.both_ns)});
  }
  PrintText("\n" + table.Take(LineWidth()));
}

// The machine of the options; without a file, the physical GPUs, however few. `reason`: why there are none.
Machine FindMachine(MachineOptions options, std::string* reason) {
  options.fewest_gpus = 1;
  if (options.file.empty() && exec::LoadGpuBackend(reason)) *reason = "all are left out";
  return options.Load();
}

void ExplainMachine(const DevicesOptions& options, const Machine& machine, const std::string& reason) {
  if (!options.machine.file.empty() || !options.make.empty()) return;
  if (!exec::HasPhysicalGpus(machine)) {
    Print("\nNo physical GPU: {}. Virtual GPUs are host threads with memory of their own.\n", reason);
  } else if (machine.Gpus().size() == 1) {
    Print(
        "\nOne GPU: without --machine, runs take two virtual GPUs; `--machine physical` takes this one, and\n"
        "samples/machines/one-gpu-as-two.json makes two of it.\n");
  }
}

// Nodes by name, and the GPUs that others are named by.
void ListMachines() {
  TextTable table;
  table.Name("Machine").Number("GPUs").Text("GPU").Number("Memory").Number("GPU to GPU").Number("Port");
  for (const std::string_view name : NodeNames()) {
    const NamedCluster node = ClusterOf(name);
    table.Row({std::string(name), fmt::format("{}", node.cluster.gpus_per_node), node.gpu->name,
               FormatBytes(node.gpu->device.memory_bytes), FormatBandwidth(node.cluster.switch_bandwidth),
               FormatBandwidth(node.cluster.nic_bandwidth)});
  }
  PrintText(table.Take(LineWidth()));
  std::string gpus;
  for (const GpuFacts& gpu : KnownGpus()) gpus += (gpus.empty() ? "" : ", ") + gpu.short_name;
  Print(
      "\n{0}:64 is 64 GPUs of such nodes. Others are named by their GPUs: h100x2 is a node of two, "
      "pcie-4090:8 "
      "eight boards of one host.\nGPUs: {1}\n",
      NodeNames().front(), gpus);
}

void ShowDevices(const DevicesOptions& options) {
  std::string reason;
  Machine machine = options.make.empty() ? FindMachine(options.machine, &reason) : MakeCluster(options.make);
  study::MeasuredRates measured;
  std::vector<exec::MessageTime> network;
  exec::Transport* const others = study::WorldTransport();
  const bool is_first = others == nullptr || others->rank() == 0;
  if (options.measure && others != nullptr) {
    measured = study::MeasureRatesOf(&machine, others);
    network = study::MeasureNetworkOf(&machine, others);
  } else if (options.measure) {
    measured = study::MeasureRates(&machine);
  }
  if (!is_first) return;
  if (!options.output.empty()) WriteFile(options.output, MachineToJson(machine));
  if (options.json) {
    PrintJson(MachineToJson(machine));
    return;
  }
  PrintTable(machine);
  PrintRates(machine);
  ExplainMachine(options, machine, reason);
  if (options.measure) PrintMeasured(machine, measured);
  PrintNetwork(machine, network);
}

}  // namespace

void AddDevices(CLI::App* app) {
  auto* command =
      app->add_subcommand("devices", "List devices and links of this machine or of a machine file");
  auto options = std::make_shared<DevicesOptions>();
  options->machine.Add(command);
  auto* make = command->add_option(
      "--make", options->make,
      "Make a machine of many nodes, e.g. dgx-a100:512,fat-tree,400Gb/s; nodes: " + ClusterNodeKinds());
  make->excludes("--machine");
  command->add_flag("--machines", options->machines, "List the machines that have names")
      ->excludes(make)
      ->excludes("--machine");
  command->add_flag("--measure", options->measure, "Measure rates, links and interference")->excludes(make);
  command->add_flag("--json", options->json, "Print a machine file");
  command->add_option("-o,--output", options->output, "Write a machine file");
  AddFullNames(command);
  AddExample(command, "lanescope devices --machine samples/machines/k80x2.json");
  command->callback([options] { options->machines ? ListMachines() : ShowDevices(*options); });
}

}  // namespace lanescope::cli
