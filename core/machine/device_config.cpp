// SPDX-License-Identifier: Apache-2.0
#include "core/machine/device_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/base/units.h"

namespace lanescope {
namespace {

// The bandwidth between parts of one GPU whose memory has no known speed.
constexpr double kWithinBandwidth = 200e9;
constexpr double kMiB = 1 << 20;

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The machine's device numbers of the GPUs that are seen, in their new order.
std::vector<DeviceId> VisibleGpus(const Machine& machine, const DeviceConfig& config) {
  std::vector<DeviceId> gpus = machine.Gpus();
  if (!config.visible_device_list.empty()) {
    const std::string& list = config.visible_device_list;
    std::vector<DeviceId> chosen;
    std::set<int> seen;
    for (const std::string_view entry : SplitAt(list, ',')) {
      const auto id = NumberIn<int>(entry);
      if (!id) {
        Throw(Code::kInvalidArgument,
              "Could not parse entry in 'visible_device_list': '{}'. visible_device_list = {}", entry, list);
      }
      if (*id < 0 || *id >= static_cast<int>(gpus.size())) {
        Throw(Code::kInvalidArgument,
              "'visible_device_list' listed an invalid Device id '{}' but visible device count is {}", *id,
              gpus.size());
      }
      if (!seen.insert(*id).second) {
        Throw(Code::kInvalidArgument, "visible_device_list contained a duplicate entry: {}", list);
      }
      chosen.push_back(gpus[static_cast<size_t>(*id)]);
    }
    gpus = std::move(chosen);
  }
  if (config.gpu_count >= 0) gpus.resize(std::min(gpus.size(), static_cast<size_t>(config.gpu_count)));
  return gpus;
}

struct NewGpu {
  DeviceId base{0};  // the machine's device
  DeviceSpec spec;
  int ordinal = 0;
};

// One number a part, where there are any.
void CheckCount(size_t gpu, size_t parts, size_t numbers, std::string_view plural,
                std::string_view singular) {
  if (numbers == 0 || numbers == parts) return;
  Throw(Code::kInvalidArgument,
        "Number of virtual device {} specified doesn't match with number of memory_limit_mb specified for "
        "GPU# {} memory_limit_mb size: {} and {} size: {}",
        plural, gpu, parts, singular, numbers);
}

DeviceSpec PartOf(const DeviceSpec& gpu, double memory_mb, double share) {
  if (gpu.kind == DeviceKind::kLogical) {
    Throw(Code::kInvalidArgument, "{} is a part of a GPU already; only whole GPUs are cut", gpu.local_name());
  }
  const double bytes = memory_mb * kMiB;
  if (!(bytes >= 1) || bytes > static_cast<double>(gpu.memory_bytes)) {
    Throw(Code::kInvalidArgument, "{} has {}; a part of it cannot have {} MiB", gpu.local_name(),
          FormatBytes(gpu.memory_bytes), memory_mb);
  }
  DeviceSpec part = gpu;
  part.memory_bytes = static_cast<int64_t>(bytes);
  if (gpu.is_hardware()) part.kind = DeviceKind::kLogical;
  // Parts share the GPU's work in the simulator as they do in its hardware, half each of two.
  if (gpu.kind == DeviceKind::kModelled) {
    for (auto& [type, flops] : part.peak_flops) flops *= share;
    for (double* rate : {&part.tf32_flops, &part.float8_flops, &part.memory_bandwidth}) *rate *= share;
    part.multiprocessors = static_cast<int>(part.multiprocessors * share);
  }
  return part;
}

void CheckLogical(const DeviceConfig& config, size_t gpus) {
  if (config.logical_devices.empty()) return;
  if (config.memory_fraction > 0) {
    Throw(Code::kInvalidArgument,
          "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  }
  if (config.logical_devices.size() > gpus) {
    Throw(Code::kUnknown,
          "Not enough GPUs to create virtual devices. num_gpus_to_use: {} #virtual_devices: {}", gpus,
          config.logical_devices.size());
  }
  if (!config.visible_device_list.empty() && config.logical_devices.size() != gpus) {
    Throw(Code::kInvalidArgument,
          "The number of GPUs in visible_device_list doesn't match the number of elements in the "
          "virtual_devices list. #GPUs in visible_device_list: {} virtual_devices.size(): {}",
          gpus, config.logical_devices.size());
  }
  for (size_t i = 0; i < config.logical_devices.size(); ++i) {
    const LogicalGpus& parts = config.logical_devices[i];
    const size_t count = parts.memory_limit_mb.size();
    CheckCount(i, count, parts.device_ordinal.size(), "ordinals", "ordinal");
    CheckCount(i, count, parts.priority.size(), "priorities", "priority");
  }
}

std::vector<NewGpu> MakeGpus(const Machine& machine, const DeviceConfig& config) {
  const std::vector<DeviceId> visible = VisibleGpus(machine, config);
  CheckLogical(config, visible.size());
  std::vector<NewGpu> made;
  for (size_t i = 0; i < visible.size(); ++i) {
    const DeviceSpec& gpu = machine.device(visible[i]);
    LogicalGpus parts;
    if (i < config.logical_devices.size()) parts = config.logical_devices[i];
    if (config.logical_devices.empty() && config.logical_devices_per_gpu > 0) {
      const auto count = static_cast<size_t>(config.logical_devices_per_gpu);
      parts.memory_limit_mb.assign(
          count, static_cast<double>(gpu.memory_bytes / config.logical_devices_per_gpu) / kMiB);
    }
    if (parts.memory_limit_mb.empty()) {
      DeviceSpec whole = gpu;
      if (config.memory_fraction > 0) {
        whole.memory_bytes =
            static_cast<int64_t>(static_cast<double>(gpu.memory_bytes) * config.memory_fraction);
      }
      made.push_back({visible[i], std::move(whole), 0});
      continue;
    }
    const double share = 1.0 / static_cast<double>(parts.memory_limit_mb.size());
    for (size_t k = 0; k < parts.memory_limit_mb.size(); ++k) {
      const int ordinal = parts.device_ordinal.empty() ? 0 : parts.device_ordinal[k];
      DeviceSpec part = PartOf(gpu, parts.memory_limit_mb[k], share);
      if (!parts.priority.empty()) part.stream_priority = parts.priority[k];
      made.push_back({visible[i], std::move(part), ordinal});
    }
  }
  std::ranges::stable_sort(made, {}, &NewGpu::ordinal);
  return made;
}

}  // namespace

Machine ConfigureDevices(const Machine& machine, const DeviceConfig& config) {
  if (machine.cluster) {
    Throw(Code::kUnimplemented,
          "the GPUs of a cluster are seen whole and in their order; list devices instead");
  }
  if (!(config.memory_fraction >= 0) || config.memory_fraction > 1) {
    Throw(Code::kInvalidArgument, "a memory fraction of {}: ask for 0 to 1", config.memory_fraction);
  }
  std::vector<NewGpu> gpus = MakeGpus(machine, config);
  Machine seen;
  seen.name = machine.name;
  seen.buses = machine.buses;
  IdVector<DeviceId, DeviceId> base;  // of a new device the machine's
  for (const DeviceId i : machine.devices.ids()) {
    if (machine.device(i).is_gpu()) continue;
    seen.devices.Add(machine.device(i));
    base.Add(i);
  }
  for (NicSpec nic : machine.nics) {
    for (DeviceId& host : nic.hosts) host = seen.FindDevice(machine.device(host).name);
    seen.nics.push_back(std::move(nic));
  }
  for (size_t i = 0; i < gpus.size(); ++i) {
    DeviceSpec& spec = gpus[i].spec;
    spec.parsed.id = static_cast<int>(i);
    spec.name = spec.parsed.ToString();
    base.Add(gpus[i].base);
    seen.devices.Add(std::move(spec));
  }
  for (const DeviceId a : seen.devices.ids()) {
    for (DeviceId b(a.number() + 1); seen.devices.Contains(b); ++b) {
      const DeviceId base_a = base[a], base_b = base[b];
      if (base_a == base_b) {
        const double memory = machine.device(base_a).memory_bandwidth;
        LinkSpec within;
        within.a = a;
        within.b = b;
        within.bandwidth = memory > 0 ? memory / 2 : kWithinBandwidth;
        seen.links.push_back(std::move(within));
        continue;
      }
      for (const LinkSpec& link : machine.links) {
        const bool forth = link.a == base_a && link.b == base_b, back = link.a == base_b && link.b == base_a;
        if (!forth && !back) continue;
        LinkSpec copy = link;
        copy.a = forth ? a : b;
        copy.b = forth ? b : a;
        seen.links.push_back(std::move(copy));
      }
    }
  }
  return seen;
}

std::vector<LogicalGpus> ParseLogicalDevices(const std::string& text) {
  std::vector<LogicalGpus> all;
  for (const std::string_view gpu : SplitAt(text, ';')) {
    LogicalGpus& parts = all.emplace_back();
    if (gpu.empty()) continue;
    for (const std::string_view part : SplitAt(gpu, ',')) {
      const size_t at = part.find('@');
      const auto limit = NumberIn<double>(part.substr(0, at));
      if (!limit) Throw(Code::kInvalidArgument, "'{}' is no memory limit in MiB, in '{}'", part, text);
      parts.memory_limit_mb.push_back(*limit);
      if (at == std::string_view::npos) continue;
      const auto priority = NumberIn<int>(part.substr(at + 1));
      if (!priority)
        Throw(Code::kInvalidArgument, "'{}' has no priority behind its '@', in '{}'", part, text);
      parts.priority.push_back(*priority);
    }
    CheckCount(all.size() - 1, parts.memory_limit_mb.size(), parts.priority.size(), "priorities", "priority");
  }
  return all;
}

}  // namespace lanescope
