// SPDX-License-Identifier: Apache-2.0
#include "exec/measure/gpu_machine.h"

#include <algorithm>

#include "core/base/error.h"
#include "exec/device/backends.h"

namespace lanescope::exec {
namespace {

// The one whose GPUs are used; null with the reason when none sees any.
Backend* BackendWithGpus(std::string* reason) {
  for (Backend* backend : Backends()) {
    if (backend->CountGpus(reason) > 0) return backend;
  }
  return nullptr;
}

Backend* LoadedBackend() {
  std::string reason;
  Backend* backend = BackendWithGpus(&reason);
  if (backend == nullptr || !backend->Load(&reason))
    Throw(Code::kFailedPrecondition, "no physical GPU can be used: {}", reason);
  return backend;
}

}  // namespace

int CountVisibleGpus(std::string* reason) {
  Backend* backend = BackendWithGpus(reason);
  return backend != nullptr ? backend->CountGpus(reason) : 0;
}

bool LoadGpuBackend(std::string* reason) {
  Backend* backend = BackendWithGpus(reason);
  return backend != nullptr && backend->Load(reason);
}

std::vector<int> UsableGpus(std::vector<std::string>* notes) { return LoadedBackend()->UsableGpus(notes); }

std::string GpuId(int ordinal) {
  std::string reason;
  Backend* backend = BackendWithGpus(&reason);
  const bool is_there = backend != nullptr && ordinal >= 0 && ordinal < backend->CountGpus(&reason);
  return is_there ? backend->IdOf(ordinal) : "";
}

Machine DescribeGpus(const std::vector<int>& ordinals, const GpuMemoryOptions& options) {
  return LoadedBackend()->Describe(ordinals, options);
}

void CompleteGpus(Machine* machine) {
  std::string reason;
  const auto lacks_something = [](const DeviceSpec& device) {
    return device.is_hardware() && (device.rates.empty() || device.multiprocessors == 0);
  };
  if (std::ranges::none_of(machine->devices, lacks_something)) return;
  Backend* backend = BackendWithGpus(&reason);
  if (backend != nullptr && backend->Load(&reason)) backend->Complete(machine);
}

Machine DetectGpus(const GpuMemoryOptions& options, std::vector<std::string>* notes) {
  return DescribeGpus(UsableGpus(notes), options);
}

bool HasPhysicalGpus(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const DeviceSpec& device) { return device.is_hardware(); });
}

}  // namespace lanescope::exec
