// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/detect_gpus.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/processors.h"
#include "exec/cuda/cuda_device.h"
#include "exec/cuda/gpu_rates.h"

namespace lanescope::exec::cuda {
namespace {

constexpr int kOldestCapability = 80;  // what the module is compiled for
constexpr int kFewMultiprocessors = 8;
constexpr std::string_view kLocalTask = "/job:localhost/replica:0/task:0/device:";

// Placeholders until `devices --measure` is run.
constexpr double kHostLink = 25e9;
constexpr double kPeerLink = 50e9;
constexpr int64_t kHostLatency = 8000;
constexpr int64_t kDeviceLatency = 4000;
constexpr int64_t kLaunch = 3000;

DeviceSpec NamedDevice(const std::string& local_name, DeviceKind kind) {
  DeviceSpec device;
  device.name = std::string(kLocalTask) + local_name;
  ParseDeviceName(device.name, &device.parsed);
  device.kind = kind;
  return device;
}

DeviceSpec DescribeGpu(int id, int ordinal, const GpuProperties& properties, int64_t memory_bytes) {
  DeviceSpec gpu = NamedDevice(fmt::format("GPU:{}", id), DeviceKind::kCuda);
  gpu.model = properties.name;
  gpu.memory_bytes = memory_bytes;
  gpu.copy_engines = properties.copy_engines >= 2 ? 2 : 1;
  gpu.in_order = true;
  gpu.physical = ordinal;
  gpu.launch_ns = kLaunch;
  gpu.multiprocessors = properties.multiprocessors;
  RateGpu(properties, properties.multiprocessors, &gpu);
  return gpu;
}

// Fewer leave a GPU out: 8, but never all GPUs (TensorFlow's GetMinGPUMultiprocessorCount).
int FewestMultiprocessors(const std::vector<GpuProperties>& visible) {
  if (const char* text = std::getenv("TF_MIN_GPU_MULTIPROCESSOR_COUNT")) return std::max(0, std::atoi(text));
  int most = 0;
  for (const GpuProperties& properties : visible) most = std::max(most, properties.multiprocessors);
  return std::min(most, kFewMultiprocessors);
}

// Why TensorFlow would leave the GPU out; empty: it would not.
std::string ReasonToIgnore(int ordinal, const GpuProperties& properties, int fewest) {
  if (properties.compute_capability < kOldestCapability) {
    return fmt::format(
        "ignoring GPU {} ({}) with compute capability {}.{}: the minimum required capability is {}.{}",
        ordinal, properties.name, properties.compute_capability / 10, properties.compute_capability % 10,
        kOldestCapability / 10, kOldestCapability % 10);
  }
  if (properties.multiprocessors < fewest) {
    return fmt::format(
        "ignoring GPU {} ({}) with {} multiprocessors: the minimum is {}; TF_MIN_GPU_MULTIPROCESSOR_COUNT "
        "changes it",
        ordinal, properties.name, properties.multiprocessors, fewest);
  }
  return "";
}

void AddLink(Machine* machine, DeviceId a, DeviceId b, double bandwidth, int64_t latency_ns) {
  LinkSpec link;
  link.a = a;
  link.b = b;
  link.bandwidth = bandwidth;
  link.latency_ns = latency_ns;
  machine->links.push_back(link);
}

}  // namespace

std::vector<int> UsableGpus(Api* api, std::vector<std::string>* notes) {
  std::vector<GpuProperties> visible;
  for (int ordinal = 0; ordinal < api->DeviceCount(); ++ordinal) visible.push_back(api->Properties(ordinal));
  const int fewest = FewestMultiprocessors(visible);
  std::vector<int> usable;
  for (int ordinal = 0; ordinal < static_cast<int>(visible.size()); ++ordinal) {
    const std::string reason = ReasonToIgnore(ordinal, visible[static_cast<size_t>(ordinal)], fewest);
    if (reason.empty()) {
      usable.push_back(ordinal);
    } else {
      notes->push_back(reason);
    }
  }
  return usable;
}

Machine DescribeGpus(Api* api, const std::vector<int>& ordinals, const GpuMemoryOptions& options) {
  Machine machine;
  DeviceSpec host = NamedDevice("CPU:0", DeviceKind::kHost);
  host.workers = NumProcessors();
  host.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  machine.devices.Add(host);
  for (const int ordinal : ordinals) {
    const MemoryInfo memory = api->Memory(ordinal);
    machine.devices.Add(DescribeGpu(machine.num_devices() - 1, ordinal, api->Properties(ordinal),
                                    GpuMemoryLimit(memory.free, memory.total, options)));
  }
  const int gpus = machine.num_devices() - 1;
  machine.name = fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s");
  if (gpus > 0) machine.name += ": " + machine.device(DeviceId(1)).model;
  for (DeviceId a(1); machine.devices.Contains(a); ++a) {
    AddLink(&machine, DeviceId(0), a, kHostLink, kHostLatency);
    for (DeviceId b(a.number() + 1); machine.devices.Contains(b); ++b) {
      const int first = machine.device(a).physical, second = machine.device(b).physical;
      const bool peers = api->EnablePeerAccess(first, second) && api->EnablePeerAccess(second, first);
      if (peers) AddLink(&machine, a, b, kPeerLink, kDeviceLatency);
    }
  }
  return machine;
}

void CompleteGpus(Api* api, Machine* machine) {
  const int count = api->DeviceCount();
  const auto is_here = [&](const DeviceSpec& device) {
    return device.is_hardware() && device.physical >= 0 && device.physical < count;
  };
  const IdVector<DeviceId, int> shares = MultiprocessorShares(api, *machine);
  for (const DeviceId d : machine->devices.ids()) {
    DeviceSpec& device = machine->devices[d];
    if (!is_here(device)) continue;
    const GpuProperties properties = api->Properties(device.physical);
    if (device.model.empty()) device.model = properties.name;
    device.multiprocessors = shares[d] > 0 ? shares[d] : properties.multiprocessors;
    const bool is_rated = !device.peak_flops.empty() || device.tf32_flops > 0 || device.memory_bandwidth > 0;
    if (!is_rated) RateGpu(properties, device.multiprocessors, &device);
  }
}

}  // namespace lanescope::exec::cuda
