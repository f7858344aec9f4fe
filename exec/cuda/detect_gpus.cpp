#include "exec/cuda/detect_gpus.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/error.h"

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

int CoresPerMultiprocessor(int capability, DataType dtype) {
  const bool data_center = capability == 80 || capability == 90 || capability == 100;
  if (dtype == DataType::kDouble) return data_center ? (capability == 80 ? 32 : 64) : 2;
  return capability == 80 ? 64 : 128;
}

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
  for (const DataType dtype : {DataType::kFloat, DataType::kDouble}) {
    gpu.peak_flops[dtype] = 2.0 * CoresPerMultiprocessor(properties.compute_capability, dtype) *
                            properties.multiprocessors * 1e3 * static_cast<double>(properties.clock_khz);
    if (gpu.peak_flops[dtype] <= 0) gpu.peak_flops.erase(dtype);
  }
  // Two transfers a clock.
  gpu.memory_bandwidth =
      2e3 * static_cast<double>(properties.memory_clock_khz) * properties.memory_bus_bits / 8;
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

}  // namespace lanescope::exec::cuda
