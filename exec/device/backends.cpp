// SPDX-License-Identifier: Apache-2.0
#include "exec/device/backends.h"

#include <algorithm>
#include <mutex>

#include "core/base/error.h"
#include "exec/device/host_device.h"
#include "exec/device/stream_device.h"

namespace lanescope::exec {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<Backend*> backends = BuiltInBackends();
};

Registry& TheRegistry() {
  static auto* registry = new Registry();  // backends outlive every static object
  return *registry;
}

// The backend of all GPUs of the machine that run something.
Backend* OneBackend(const Machine& machine) {
  const DeviceSpec* first = nullptr;
  Backend* backend = nullptr;
  for (const DeviceSpec& spec : machine.devices) {
    if (spec.kind == DeviceKind::kHost || spec.kind == DeviceKind::kModelled) continue;
    Backend* other = BackendOf(spec);
    if (first != nullptr && other != backend) {
      Throw(Code::kInvalidArgument, "{} is {} and {} is {}; a run takes GPUs of one sort",
            first->local_name(), DeviceKindName(first->kind), spec.local_name(), DeviceKindName(spec.kind));
    }
    first = &spec;
    backend = other;
  }
  return backend;
}

}  // namespace

std::vector<Backend*> Backends() {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  return {registry.backends.rbegin(), registry.backends.rend()};
}

Backend* BackendOf(const DeviceSpec& spec) {
  const auto backends = Backends();
  const auto found = std::find_if(backends.begin(), backends.end(),
                                  [&](const Backend* backend) { return backend->Serves(spec); });
  return found != backends.end() ? *found : nullptr;
}

BackendRegistration::BackendRegistration(Backend* backend) : backend_(backend) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.backends.push_back(backend);
}

BackendRegistration::~BackendRegistration() {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  std::erase(registry.backends, backend_);
}

bool HasJointLaunches(const Machine& machine) {
  std::string reason;
  const auto gpus = std::count_if(machine.devices.begin(), machine.devices.end(),
                                  [](const DeviceSpec& spec) { return spec.is_hardware(); });
  if (gpus < 2) return false;
  Backend* backend = OneBackend(machine);
  return backend != nullptr && backend->LaunchesTogether(&reason);
}

IdVector<DeviceId, std::unique_ptr<Device>> MakeDevices(const Machine& machine,
                                                        const DeviceOptions& options) {
  IdVector<DeviceId, std::unique_ptr<Device>> devices(machine.devices.size());
  if (Backend* backend = OneBackend(machine)) devices = backend->MakeDevices(machine, options);
  StreamDriver* pinning = nullptr;
  for (const auto& device : devices) {
    if (device != nullptr && device->streams() != nullptr) pinning = &device->streams()->driver();
  }
  for (const DeviceId d : devices.ids()) {
    const DeviceSpec& spec = machine.devices[d];
    if (devices[d] == nullptr && IsOfHostThreads(spec.kind))
      devices[d] = std::make_unique<HostDevice>(spec, pinning);
  }
  return devices;
}

}  // namespace lanescope::exec
