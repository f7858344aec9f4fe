// A CUDA GPU, or a part of one, as a device of a session.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/schedule.h"
#include "exec/cuda/api.h"
#include "exec/cuda/memory_pool.h"
#include "exec/cuda_module.h"
#include "exec/cuda_options.h"
#include "exec/device.h"

namespace lanescope::exec::cuda {

// Gives pieces of GPUs their streams' share of the multiprocessors. Lives as long as its devices.
class PartitionSet {
 public:
  explicit PartitionSet(Api* api) : api_(api) {}
  ~PartitionSet();
  PartitionSet(const PartitionSet&) = delete;
  PartitionSet& operator=(const PartitionSet&) = delete;
  // Divides the GPU for the devices of `machine` on it that ask for a share; by device number, null handles
  // for the rest. Throws InvalidArgument when shares sum to more than 1, FailedPrecondition when the GPU
  // cannot be divided.
  void Divide(const Machine& machine, std::vector<Partition>* partitions);

 private:
  Api* api_;
  std::vector<PartitionHandle> handles_;
};

// Groups of multiprocessors for each share: at least one each, no more than there are.
std::vector<int> GroupsForShares(const std::vector<double>& shares, int groups);

// Owns the device's memory and streams. Thread-safety as of Device; streams may be used from any thread after
// MakeCurrent.
class CudaDevice : public Device {
 public:
  // `partitions` keeps the share alive.
  CudaDevice(const DeviceSpec& spec, CudaModule* module, const Partition& partition,
             std::shared_ptr<PartitionSet> partitions, const CudaOptions& options);
  ~CudaDevice() override;

  const DeviceSpec& spec() const override { return spec_; }
  const KernelRegistry& kernels() const override { return module_->kernels(); }
  void* Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  void Upload(void* to, const void* from, int64_t bytes) override;
  void Download(void* to, const void* from, int64_t bytes) override;
  WorkerTeam& team() override { return *team_; }
  CudaDevice* AsCuda() override { return this; }

  Api& api() const { return module_->api(); }
  int ordinal() const { return spec_.physical; }
  void MakeCurrent() const { module_->api().MakeCurrent(spec_.physical); }
  StreamHandle stream(QueueKind kind) const { return streams_[static_cast<size_t>(kind)]; }
  // For kernels on the compute stream; made at the first call.
  StreamContext* launch();

 private:
  static constexpr size_t kNumStreams = 3;  // by QueueKind

  DeviceSpec spec_;
  CudaModule* module_;
  Partition partition_;
  std::shared_ptr<PartitionSet> partitions_;
  CudaOptions options_;
  std::unique_ptr<MemoryPool> pool_;
  std::array<StreamHandle, kNumStreams> streams_{};
  std::unique_ptr<StreamContext> launch_;
  std::unique_ptr<WorkerTeam> team_;
};

// Every device of the machine, in its order: host memory devices and GPUs; null for modelled ones. Throws
// FailedPrecondition when the machine has a GPU that this process cannot use, saying why.
std::vector<std::unique_ptr<Device>> MakeDevices(const Machine& machine, const CudaOptions& options);

}  // namespace lanescope::exec::cuda
