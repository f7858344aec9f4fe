// SPDX-License-Identifier: Apache-2.0
#include "study/workload/machine_change.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/units.h"
#include "sims/cost/device_speed.h"

namespace lanescope::study {
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

double ParseLinkBandwidth(std::string_view value) {
  const double given = ParseBandwidth(value);
  if (!(given > 0)) Throw(Code::kInvalidArgument, "a link of {} moves nothing", value);
  return given;
}

bool IsBetweenTasks(const Machine& machine, const LinkSpec& link) {
  return !IsSameAddressSpace(machine.device(link.a).parsed, machine.device(link.b).parsed);
}

void ChangeLink(std::string_view key, std::string_view value, LinkSpec* link) {
  link->table.clear();
  if (key == "bandwidth") {
    link->bandwidth = ParseLinkBandwidth(value);
  } else {
    link->latency_ns = ParseDuration(value);
  }
}

// Links between tasks, and the interfaces that they pass.
void ChangeNetwork(std::string_view key, std::string_view value, Machine* machine) {
  bool any = false;
  for (LinkSpec& link : machine->links) {
    if (!IsBetweenTasks(*machine, link)) continue;
    ChangeLink(key, value, &link);
    any = true;
  }
  if (!any) {
    Throw(Code::kFailedPrecondition,
          "--set 'network.{}={}': no link of the machine is between two tasks; link.{} and host_link.{} are "
          "those within one",
          key, value, key, key);
  }
  if (key == "bandwidth") {
    for (NicSpec& nic : machine->nics) nic.bandwidth = ParseLinkBandwidth(value);
  }
}

void ChangeLinks(std::string_view key, std::string_view value, bool between_gpus, Machine* machine) {
  if (machine->cluster) {
    Cluster& cluster = *machine->cluster;
    if (key == "bandwidth") {
      (between_gpus ? cluster.nic_bandwidth : cluster.host_bandwidth) = ParseLinkBandwidth(value);
    } else {
      (between_gpus ? cluster.nic_latency_ns : cluster.host_latency_ns) = ParseDuration(value);
    }
  }
  for (LinkSpec& link : machine->links) {
    const bool has_gpus = machine->device(link.a).is_gpu() && machine->device(link.b).is_gpu();
    if (has_gpus == between_gpus && !IsBetweenTasks(*machine, link)) ChangeLink(key, value, &link);
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
      return ChangeLinks(key, value, what == "link", machine);
    if (what == "network" && link_key) return ChangeNetwork(key, value, machine);
    if (key == "memory" || key == "workers" || key == "speed") {
      const DeviceId device = machine->FindDevice(what);
      if (!device.exists())
        Throw(Code::kNotFound, "--set '{}': the machine has no device '{}'", change, what);
      return ChangeDevice(key, value, &machine->devices[device], &(*speed)[device]);
    }
  }
  Throw(Code::kInvalidArgument,
        "--set '{}' is not understood; possible are link.bandwidth=, link.latency= (between GPUs), "
        "host_link.bandwidth=, host_link.latency=, network.bandwidth=, network.latency= (between tasks), "
        "DEVICE.memory=, DEVICE.workers=, DEVICE.speed=",
        change);
}

std::string CheckMachineChange(const std::string& change) {
  const size_t equals = change.find('=');
  const size_t dot = change.substr(0, equals).rfind('.');
  const bool good = equals != std::string::npos && equals + 1 < change.size() && dot != std::string::npos;
  return good ? "" : fmt::format("'{}' is not of the form WHAT.KEY=VALUE", change);
}

}  // namespace lanescope::study
