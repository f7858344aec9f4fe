// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_device.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/base/error.h"
#include "core/base/units.h"
#include "exec/cuda/fused_launch.h"
#include "exec/device/thread_team.h"

namespace lanescope::exec::cuda {
namespace {

// By GPU, the devices that ask for a share of its multiprocessors.
std::map<int, std::vector<DeviceId>> SharersByGpu(const Machine& machine) {
  std::map<int, std::vector<DeviceId>> by_gpu;
  for (const DeviceId d : machine.devices.ids()) {
    const DeviceSpec& spec = machine.device(d);
    if (spec.kind == DeviceKind::kLogical && spec.sm_share > 0) by_gpu[spec.physical].push_back(d);
  }
  return by_gpu;
}

std::vector<double> SharesOf(const Machine& machine, const std::vector<DeviceId>& devices) {
  std::vector<double> shares;
  for (const DeviceId d : devices) shares.push_back(machine.device(d).sm_share);
  return shares;
}

}  // namespace

PartitionSet::~PartitionSet() {
  for (const PartitionHandle handle : handles_) api_->DestroyPartition(handle);
}

void PartitionSet::Divide(const Machine& machine, IdVector<DeviceId, Partition>* partitions) {
  for (const auto& [ordinal, devices] : SharersByGpu(machine)) {
    const std::vector<double> shares = SharesOf(machine, devices);
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (sum > 1.000001) {
      Throw(Code::kInvalidArgument,
            "the devices of physical GPU {} ask for {:.2f} of its multiprocessors together; lower sm_share",
            ordinal, sum);
    }
    const auto groups = static_cast<int>(api_->PartitionGroups(ordinal).size());
    if (groups < static_cast<int>(shares.size())) {
      Throw(Code::kFailedPrecondition,
            "physical GPU {} cannot be divided into {} shares of multiprocessors here; leave sm_share out of "
            "the machine file",
            ordinal, shares.size());
    }
    const auto made = api_->CreatePartitions(ordinal, GroupsForShares(shares, groups));
    LANESCOPE_CHECK(made.size() == devices.size());
    for (size_t i = 0; i < devices.size(); ++i) {
      handles_.push_back(made[i].handle);
      (*partitions)[devices[i]] = made[i];
    }
  }
}

std::vector<int> GroupsForShares(const std::vector<double>& shares, int groups) {
  std::vector<int> counts;
  int left = groups;
  for (size_t i = 0; i < shares.size(); ++i) {
    const int others = static_cast<int>(shares.size() - i - 1);
    const int wanted = static_cast<int>(std::lround(shares[i] * groups));
    counts.push_back(std::clamp(wanted, 1, std::max(1, left - others)));
    left -= counts.back();
  }
  return counts;
}

IdVector<DeviceId, int> MultiprocessorShares(Api* api, const Machine& machine) {
  IdVector<DeviceId, int> shares(machine.devices.size(), 0);
  for (const auto& [ordinal, devices] : SharersByGpu(machine)) {
    if (ordinal < 0 || ordinal >= api->DeviceCount()) continue;
    const std::vector<int> sizes = api->PartitionGroups(ordinal);
    if (sizes.size() < devices.size()) continue;
    auto next = sizes.begin();
    const std::vector<int> groups =
        GroupsForShares(SharesOf(machine, devices), static_cast<int>(sizes.size()));
    for (size_t i = 0; i < devices.size(); ++i) {
      const auto end = next + std::min<ptrdiff_t>(groups[i], sizes.end() - next);
      shares[devices[i]] = std::accumulate(next, end, 0);
      next = end;
    }
  }
  return shares;
}

CudaDevice::CudaDevice(const DeviceSpec& spec, CudaModule* module, const Partition& partition,
                       std::shared_ptr<PartitionSet> partitions, std::shared_ptr<Nccl> nccl,
                       const DeviceOptions& options)
    : spec_(spec),
      module_(module),
      partition_(partition),
      partitions_(std::move(partitions)),
      nccl_(std::move(nccl)),
      peers_(&module->api(), nccl_.get(), this),
      options_(options),
      team_(MakeThreadTeam(1)) {
  MakeCurrent();
  pool_ = std::make_unique<MemoryPool>(
      MemoryPool::Options{spec_.memory_bytes, options_.memory_growth},
      [this](int64_t bytes) {
        MakeCurrent();
        return api().Allocate(bytes);
      },
      [this](void* region) { api().Free(ordinal(), region); });
  CheckPriority();
  for (StreamHandle& stream : streams_) stream = api().CreateStream(partition_.handle, spec_.stream_priority);
}

CudaDevice::~CudaDevice() {
  launch_.reset();
  for (const StreamHandle stream : streams_) {
    if (stream != nullptr) api().DestroyStream(stream);
  }
}

void CudaDevice::CheckPriority() const {
  const auto [lowest, highest] = api().StreamPriorities();
  if (spec_.stream_priority >= lowest && spec_.stream_priority <= highest) return;
  Throw(Code::kInvalidArgument,
        "Priority {} is outside the range of supported priorities [{},{}] for {} on GPU# {}",
        spec_.stream_priority, lowest, highest, spec_.local_name(), spec_.physical);
}

void* CudaDevice::Allocate(int64_t bytes) {
  const std::lock_guard lock(pool_mutex_);
  void* memory = nullptr;
  try {
    memory = pool_->Allocate(bytes);
  } catch (const Error& error) {
    Throw(error.code(), "{} cannot give {}: {}; other programs may hold its memory (see nvidia-smi)",
          spec_.local_name(), FormatBytes(bytes), error.message());
  }
  if (memory == nullptr) {
    Throw(Code::kResourceExhausted,
          "{} cannot give {}: {} of {} are in use; raise the limit in the machine file or --memory-fraction",
          spec_.local_name(), FormatBytes(bytes), FormatBytes(pool_->in_use()),
          FormatBytes(spec_.memory_bytes));
  }
  return memory;
}

void CudaDevice::Free(void* memory) {
  const std::lock_guard lock(pool_mutex_);
  pool_->Free(memory);
}

void CudaDevice::Upload(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  MakeCurrent();
  const StreamHandle stream = streams_[static_cast<size_t>(QueueKind::kCopyIn)];
  api().Copy(stream, to, ordinal(), from, kHostMemory, bytes);
  api().Synchronize(stream);
}

void CudaDevice::Download(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  MakeCurrent();
  const StreamHandle stream = streams_[static_cast<size_t>(QueueKind::kCopyOut)];
  api().Copy(stream, to, kHostMemory, from, ordinal(), bytes);
  api().Synchronize(stream);
}

StreamContext* CudaDevice::launch() {
  if (launch_ == nullptr) {
    MakeCurrent();
    LaunchSpec spec;
    spec.ordinal = ordinal();
    spec.stream = stream(QueueKind::kCompute);
    const GpuProperties gpu = api().Properties(ordinal());
    spec.multiprocessors = partition_.multiprocessors > 0 ? partition_.multiprocessors : gpu.multiprocessors;
    spec.allow_tf32 = options_.allow_tf32;
    spec.any_algorithm = options_.any_algorithm;
    spec.gpu = fmt::format("{} sm_{}", gpu.name, gpu.compute_capability);
    spec.allocate = [this](int64_t bytes) { return Allocate(bytes); };
    spec.release = [this](void* memory) { Free(memory); };
    launch_ = api().MakeLaunch(spec);
  }
  return launch_.get();
}

std::unique_ptr<Kernel> CudaDevice::MakeFusedKernel(const Graph& graph, const Schedule& schedule,
                                                    const Command& command) {
  const FusedPlace place{&api(), ordinal(), stream(QueueKind::kCompute),
                         [this](int64_t bytes) { return Allocate(bytes); },
                         [this](void* memory) { Free(memory); }};
  return MakeCudaFusedKernel(place, graph, schedule, command);
}

// A load of all the GPU's multiprocessors, whatever the share.
std::unique_ptr<DeviceLoad> CudaDevice::MakeLoad(WorkClass work_class, StreamHandle stream) {
  MakeCurrent();
  LaunchSpec spec;
  spec.ordinal = ordinal();
  spec.stream = stream;
  spec.multiprocessors = api().Properties(ordinal()).multiprocessors;
  return api().MakeLoad(work_class, spec);
}

}  // namespace lanescope::exec::cuda
