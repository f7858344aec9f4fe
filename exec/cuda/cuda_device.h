// SPDX-License-Identifier: Apache-2.0
// A CUDA GPU, or a part of one, as a device of a session.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "core/schedule/schedule.h"
#include "exec/cuda/api.h"
#include "exec/cuda/cuda_module.h"
#include "exec/cuda/nccl.h"
#include "exec/cuda/nccl_peers.h"
#include "exec/device/device_options.h"
#include "exec/device/memory_pool.h"
#include "exec/device/stream_device.h"

namespace lanescope::exec::cuda {

// Gives pieces of GPUs their streams' share of the multiprocessors. Lives as long as its devices.
class PartitionSet {
 public:
  explicit PartitionSet(Api* api) : api_(api) {}
  ~PartitionSet();
  PartitionSet(const PartitionSet&) = delete;
  PartitionSet& operator=(const PartitionSet&) = delete;
  // Divides the GPU for the devices of `machine` on it that ask for a share; null handles for the
  // rest. Throws InvalidArgument when shares sum to more than 1, FailedPrecondition when the GPU
  // cannot be divided.
  void Divide(const Machine& machine, IdVector<DeviceId, Partition>* partitions);

 private:
  Api* api_;
  std::vector<PartitionHandle> handles_;
};

// By device, the multiprocessors that those which ask for a share of a GPU get; 0 for all others, and where
// they cannot be given: making such devices says why.
IdVector<DeviceId, int> MultiprocessorShares(Api* api, const Machine& machine);

// Groups of multiprocessors for each share: at least one each, no more than there are.
std::vector<int> GroupsForShares(const std::vector<double>& shares, int groups);

// Owns the device's memory and streams. Thread-safety as of Device; streams may be used from any thread after
// MakeCurrent.
class CudaDevice : public StreamDevice {
 public:
  // `partitions` keeps the share alive. `nccl`: of all devices of the set.
  CudaDevice(const DeviceSpec& spec, CudaModule* module, const Partition& partition,
             std::shared_ptr<PartitionSet> partitions, std::shared_ptr<Nccl> nccl,
             const DeviceOptions& options);
  ~CudaDevice() override;

  const DeviceSpec& spec() const override { return spec_; }
  const KernelRegistry& kernels() const override { return module_->kernels(); }
  void* Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  void Upload(void* to, const void* from, int64_t bytes) override;
  void Download(void* to, const void* from, int64_t bytes) override;
  WorkerTeam& team() override { return *team_; }

  StreamDriver& driver() const override { return api(); }
  int ordinal() const override { return spec_.physical; }
  StreamHandle stream(QueueKind kind) const override { return streams_[static_cast<size_t>(kind)]; }
  JointDriver* joint() override { return nccl_.get(); }
  PeerDriver* peers() override { return &peers_; }
  StreamContext* launch() override;  // made at the first call
  std::unique_ptr<Kernel> MakeFusedKernel(const Graph& graph, const Schedule& schedule,
                                          const Command& command) override;
  std::unique_ptr<DeviceLoad> MakeLoad(WorkClass work_class, StreamHandle stream) override;
  std::string advice() const override { return "CUDA_LAUNCH_BLOCKING=1 with --no-cuda-graph names the op"; }

 private:
  Api& api() const { return module_->api(); }
  // Throws InvalidArgument for one that the GPU does not have.
  void CheckPriority() const;

  static constexpr size_t kNumStreams = 3;  // by QueueKind

  DeviceSpec spec_;
  CudaModule* module_;
  Partition partition_;
  std::shared_ptr<PartitionSet> partitions_;
  std::shared_ptr<Nccl> nccl_;
  NcclPeers peers_;
  DeviceOptions options_;
  std::mutex pool_mutex_;  // kernels take memory while others load steps
  std::unique_ptr<MemoryPool> pool_;
  std::array<StreamHandle, kNumStreams> streams_{};
  std::unique_ptr<StreamContext> launch_;
  std::unique_ptr<WorkerTeam> team_;
};

}  // namespace lanescope::exec::cuda
