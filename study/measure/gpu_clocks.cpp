// SPDX-License-Identifier: Apache-2.0
#include "study/measure/gpu_clocks.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <set>

namespace lanescope::study {
namespace {

// NVML's numbers: the clock of the multiprocessors, and reasons why clocks are low that no load of the
// program's explains (hardware slowdown, heat seen by software and by hardware, power brake).
constexpr int kMultiprocessorClock = 1;
constexpr unsigned long long kHeldDown = 0x8 | 0x20 | 0x40 | 0x80;

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

std::set<int> PhysicalGpus(const Machine& machine) {
  std::set<int> ordinals;
  for (const DeviceSpec& device : machine.devices) {
    if (device.is_hardware() && device.physical >= 0) ordinals.insert(device.physical);
  }
  return ordinals;
}

}  // namespace

// The driver numbers GPUs as the environment leaves them visible, NVML all of them: both know bus ids.
GpuClocks::GpuClocks(const Machine& machine, const GpuLibraries& libraries) {
  const std::set<int> ordinals = PhysicalGpus(machine);
  if (ordinals.empty()) return;
  void* const driver = dlopen(libraries.driver.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* const nvml = dlopen(libraries.nvml.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr || nvml == nullptr) return;
  int (*init_driver)(unsigned flags);
  int (*get_device)(int* device, int ordinal);
  int (*get_bus_id)(char* text, int size, int device);
  int (*init_nvml)();
  int (*find_by_bus_id)(const char* text, Gpu* gpu);
  if (!Find(driver, "cuInit", &init_driver) || !Find(driver, "cuDeviceGet", &get_device) ||
      !Find(driver, "cuDeviceGetPCIBusId", &get_bus_id) || !Find(nvml, "nvmlInit_v2", &init_nvml) ||
      !Find(nvml, "nvmlDeviceGetHandleByPciBusId_v2", &find_by_bus_id) ||
      !Find(nvml, "nvmlDeviceGetClockInfo", &clock_of_) ||
      !Find(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", &reasons_of_) || init_driver(0) != 0 ||
      init_nvml() != 0) {
    return;
  }
  for (const int ordinal : ordinals) {
    int device = 0;
    std::array<char, 32> bus_id{};
    Gpu gpu = nullptr;
    if (get_device(&device, ordinal) == 0 && get_bus_id(bus_id.data(), bus_id.size(), device) == 0 &&
        find_by_bus_id(bus_id.data(), &gpu) == 0)
      gpus_.push_back(gpu);
  }
}

GpuClock GpuClocks::Read() const {
  GpuClock slowest;
  for (const Gpu gpu : gpus_) {
    unsigned mhz = 0;
    if (clock_of_(gpu, kMultiprocessorClock, &mhz) == 0 && mhz > 0)
      slowest.mhz = slowest.mhz == 0 ? mhz : std::min<int64_t>(slowest.mhz, mhz);
    unsigned long long reasons = 0;
    slowest.held_down |= reasons_of_(gpu, &reasons) == 0 && (reasons & kHeldDown) != 0;
  }
  return slowest;
}

}  // namespace lanescope::study
