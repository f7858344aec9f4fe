#include "cli/report.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/line_width.h"
#include "cli/print.h"
#include "cli/unknown_report.h"
#include "core/base/error.h"
#include "core/base/text_table.h"
#include "core/base/units.h"
#include "sims/device_speed.h"

namespace lanescope::cli {

using nlohmann::json;

json CopiesJson(const std::array<sims::CopyTraffic, kNumCopyClasses>& copies) {
  json result;
  for (int c = 0; c < kNumCopyClasses; ++c) {
    const sims::CopyTraffic& traffic = copies[static_cast<size_t>(c)];
    result[std::string(CopyClassName(static_cast<CopyClass>(c)))] = {
        {"count", traffic.count}, {"bytes", traffic.bytes}, {"ns", traffic.ns}};
  }
  return result;
}

// All, or of a cluster those that do something.
static std::vector<DeviceId> ShownDevices(const Machine& machine, const sims::Prediction& prediction) {
  std::vector<DeviceId> shown;
  for (const DeviceId d : machine.devices.ids()) {
    if (!machine.cluster || prediction.busy[d] > 0 || prediction.peak_bytes[d] > 0) shown.push_back(d);
  }
  return shown;
}

json PredictionJson(const Machine& machine, const sims::Prediction& prediction) {
  json busy, peak;
  for (const DeviceId d : ShownDevices(machine, prediction)) {
    busy[machine.device(d).local_name()] = prediction.busy[d];
    peak[machine.device(d).local_name()] = prediction.peak_bytes[d];
  }
  const sims::CriticalPath& path = prediction.critical_path;
  const std::string caveat = CaveatOf(prediction, machine);
  return {
      {"caveat", caveat.empty() ? json(nullptr) : json(caveat)},
      {"step_ns", {{"value", prediction.step_ns}, {"low", prediction.low_ns}, {"high", prediction.high_ns}}},
      {"busy", busy},
      {"peak_bytes", peak},
      {"copies", CopiesJson(prediction.copies)},
      {"critical_path_ns", path.launch_ns + path.copy_ns}};
}

void PrintPrediction(std::string_view graph, std::string_view strategy, const Machine& machine,
                     const Schedule& schedule, const sims::Prediction& prediction, std::string_view origin) {
  const std::string caveat = CaveatOf(prediction, machine);
  Print("{} placed by {} on {}: {}{} a step ({} to {}), simulated, {}\n", graph, strategy, machine.name,
        caveat.empty() ? "" : caveat + "; so taken, ", TimeText(prediction.step_ns),
        TimeText(prediction.low_ns), TimeText(prediction.high_ns), origin);
  if (prediction.uncalibrated_share() > 0 && origin != "uncalibrated") {
    Print("  {} of the commands' time is not calibrated\n", PercentText(prediction.uncalibrated_share(), 0));
  }
  TextTable devices;
  devices.Text("Device").Number("Busy").Number("Peak memory");
  for (const DeviceId d : ShownDevices(machine, prediction)) {
    devices.Row({machine.device(d).local_name(), PercentText(prediction.busy[d]),
                 FormatBytes(prediction.peak_bytes[d])});
  }
  TextTable copies;
  copies.Text("Copies in a step").Number("Count").Number("Bytes").Number("Time");
  for (int c = 0; c < kNumCopyClasses; ++c) {
    const sims::CopyTraffic& traffic = prediction.copies[static_cast<size_t>(c)];
    if (traffic.count == 0) continue;
    copies.Row({std::string(CopyClassName(static_cast<CopyClass>(c))), std::to_string(traffic.count),
                FormatBytes(traffic.bytes), TimeText(traffic.ns)});
  }
  PrintText("\n" + devices.Take(LineWidth()));
  if (!copies.empty()) PrintText("\n" + copies.Take(LineWidth()));
  const sims::CriticalPath& path = prediction.critical_path;
  Print("\nCritical path: {} of launches, {} of copies, {} of gaps; {} commands in the schedule\n",
        TimeText(path.launch_ns), TimeText(path.copy_ns), TimeText(path.overhead_ns),
        schedule.commands.size());
}

namespace {

constexpr int kMaxWorkers = 1024;  // as in machine files

double ParseFactor(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value)) {
    Throw(Code::kInvalidArgument, "'{}' is not a positive number", text);
  }
  return value;
}

int ParseWorkers(std::string_view text) {
  const double workers = ParseFactor(text);
  if (workers != std::floor(workers) || workers > kMaxWorkers) {
    Throw(Code::kInvalidArgument, "'{}' is no number of workers from 1 to {}", text, kMaxWorkers);
  }
  return static_cast<int>(workers);
}

void ChangeLink(std::string_view key, std::string_view value, bool between_gpus, Machine* machine) {
  const auto bandwidth = [&] {
    const double given = ParseBandwidth(value);
    if (!(given > 0)) Throw(Code::kInvalidArgument, "a link of {} moves nothing", value);
    return given;
  };
  if (machine->cluster) {
    Cluster& cluster = *machine->cluster;
    if (key == "bandwidth") {
      (between_gpus ? cluster.nic_bandwidth : cluster.host_bandwidth) = bandwidth();
    } else {
      (between_gpus ? cluster.nic_latency_ns : cluster.host_latency_ns) = ParseDuration(value);
    }
  }
  for (LinkSpec& link : machine->links) {
    if ((machine->device(link.a).is_gpu() && machine->device(link.b).is_gpu()) != between_gpus) continue;
    link.table.clear();
    if (key == "bandwidth") {
      link.bandwidth = bandwidth();
    } else {
      link.latency_ns = ParseDuration(value);
    }
  }
}

void ChangeDevice(std::string_view key, std::string_view value, DeviceSpec* device, double* speed) {
  if (key == "memory") {
    device->memory_bytes = ParseBytes(value);
    if (device->memory_bytes <= 0)
      Throw(Code::kInvalidArgument, "a device with a memory of {} holds nothing", value);
  } else if (key == "workers") {
    device->workers = ParseWorkers(value);
  } else {
    *speed = ParseFactor(value);
    sims::RequireSpeed(*speed);
  }
}

}  // namespace

void ApplyMachineChange(std::string_view change, Machine* machine, IdVector<DeviceId, double>* speed) {
  const size_t equals = change.find('=');
  const size_t dot = change.substr(0, equals).rfind('.');
  if (equals != std::string_view::npos && dot != std::string_view::npos) {
    const auto what = change.substr(0, dot), key = change.substr(dot + 1, equals - dot - 1),
               value = change.substr(equals + 1);
    const bool link_key = key == "bandwidth" || key == "latency";
    if ((what == "link" || what == "host_link") && link_key)
      return ChangeLink(key, value, what == "link", machine);
    if (key == "memory" || key == "workers" || key == "speed") {
      const DeviceId device = machine->FindDevice(what);
      if (!device.exists())
        Throw(Code::kNotFound, "--set '{}': the machine has no device '{}'", change, what);
      return ChangeDevice(key, value, &machine->devices[device], &(*speed)[device]);
    }
  }
  Throw(Code::kInvalidArgument,
        "--set '{}' is not understood; possible are link.bandwidth=, link.latency= (between GPUs), "
        "host_link.bandwidth=, host_link.latency=, "
        "DEVICE.memory=, DEVICE.workers=, DEVICE.speed=",
        change);
}

std::string CheckMachineChange(const std::string& change) {
  const size_t equals = change.find('=');
  const size_t dot = change.substr(0, equals).rfind('.');
  const bool good = equals != std::string::npos && equals + 1 < change.size() && dot != std::string::npos;
  return good ? "" : fmt::format("'{}' is not of the form WHAT.KEY=VALUE", change);
}

}  // namespace lanescope::cli
