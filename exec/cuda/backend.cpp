// SPDX-License-Identifier: Apache-2.0
// GPUs as CUDA shows them, as a backend of exec.
#include <algorithm>

#include "core/base/error.h"
#include "exec/cuda/cuda_device.h"
#include "exec/cuda/cuda_module.h"
#include "exec/cuda/detect_gpus.h"
#include "exec/cuda/fused_launch.h"
#include "exec/device/backends.h"

namespace lanescope::exec::cuda {
namespace {

// Throws unless every GPU of the machine is one that the driver shows.
void CheckOrdinals(const Machine& machine, Api* api) {
  const int count = api->DeviceCount();
  for (const DeviceSpec& spec : machine.devices) {
    if (!spec.is_hardware() || (spec.physical >= 0 && spec.physical < count)) continue;
    Throw(Code::kFailedPrecondition,
          "{} is physical GPU {}, but {} visible here; correct `physical` in the machine file or "
          "CUDA_VISIBLE_DEVICES",
          spec.local_name(), spec.physical, count == 1 ? "1 GPU is" : fmt::format("{} GPUs are", count));
  }
}

// Copies between GPUs that have it go straight from memory to memory; the driver stages the others through
// pinned host memory.
void EnablePeers(const Machine& machine, Api* api) {
  for (const DeviceSpec& from : machine.devices) {
    for (const DeviceSpec& to : machine.devices) {
      if (from.is_hardware() && to.is_hardware() && from.physical != to.physical)
        api->EnablePeerAccess(from.physical, to.physical);
    }
  }
}

class CudaBackend : public Backend {
 public:
  bool Serves(const DeviceSpec& spec) const override { return spec.is_hardware(); }
  IdVector<DeviceId, std::unique_ptr<Device>> MakeDevices(const Machine& machine,
                                                          const DeviceOptions& options) override;
  int CountGpus(std::string* reason) override { return CountVisibleGpus(reason); }
  bool Load(std::string* reason) override {
    if (LoadCudaModule(reason) == nullptr) return false;
    OfferFusedLaunches();
    return true;
  }
  bool LaunchesTogether(std::string* reason) override { return LoadNccl(reason) != nullptr; }
  std::string PeerLibrary(std::string* reason) override {
    const auto library = Load(reason) ? LoadNccl(reason) : nullptr;
    if (library != nullptr) *reason = library->WhyNoProcesses();
    return library != nullptr && reason->empty() ? "NCCL " + library->VersionText() : "";
  }
  std::vector<int> UsableGpus(std::vector<std::string>* notes) override {
    return cuda::UsableGpus(&Module()->api(), notes);
  }
  std::string IdOf(int ordinal) override { return GpuUuid(ordinal); }
  Machine Describe(const std::vector<int>& ordinals, const GpuMemoryOptions& options) override {
    return DescribeGpus(&Module()->api(), ordinals, options);
  }
  void Complete(Machine* machine) override { CompleteGpus(&Module()->api(), machine); }

 private:
  // After Load.
  static CudaModule* Module() {
    std::string reason;
    CudaModule* module = LoadCudaModule(&reason);
    LANESCOPE_CHECK(module != nullptr);
    return module;
  }
};

IdVector<DeviceId, std::unique_ptr<Device>> CudaBackend::MakeDevices(const Machine& machine,
                                                                     const DeviceOptions& options) {
  std::string reason;
  CudaModule* module = LoadCudaModule(&reason);
  if (module == nullptr) {
    const auto first = std::find_if(machine.devices.begin(), machine.devices.end(),
                                    [this](const DeviceSpec& spec) { return Serves(spec); });
    Throw(Code::kFailedPrecondition, "{} is a GPU, but {}; use virtual devices", first->local_name(), reason);
  }
  OfferFusedLaunches();
  CheckOrdinals(machine, &module->api());
  EnablePeers(machine, &module->api());
  const auto set = std::make_shared<PartitionSet>(&module->api());
  const auto nccl = std::make_shared<Nccl>();
  IdVector<DeviceId, Partition> partitions(machine.devices.size());
  set->Divide(machine, &partitions);
  IdVector<DeviceId, std::unique_ptr<Device>> devices(machine.devices.size());
  for (const DeviceId d : devices.ids()) {
    if (!Serves(machine.devices[d])) continue;
    devices[d] = std::make_unique<CudaDevice>(machine.devices[d], module, partitions[d], set, nccl, options);
  }
  return devices;
}

}  // namespace

Backend& TheBackend() {
  static CudaBackend backend;
  return backend;
}

}  // namespace lanescope::exec::cuda
