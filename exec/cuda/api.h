// SPDX-License-Identifier: Apache-2.0
// The few CUDA calls that the backend's host logic makes beside those that every backend with streams has,
// without CUDA's headers: implemented once for real (exec/cuda/module) and once as a recording stub
// (tests/exec/cuda).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/device/stream_device.h"

namespace lanescope::exec::cuda {

using KernelHandle = struct KernelTag*;        // of a binary that was loaded; null is none
using PartitionHandle = struct PartitionTag*;  // a share of a GPU's multiprocessors; null is none

struct GpuProperties {
  std::string name;
  int64_t memory_bytes = 0;
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  int copy_engines = 0;
  int64_t clock_khz = 0;
  int64_t memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::string uuid;  // bytes; no two GPUs have the same
};

struct MemoryInfo {
  int64_t free = 0;
  int64_t total = 0;
};

struct Partition {
  PartitionHandle handle = nullptr;
  int multiprocessors = 0;
};

// The launch as kernels of one compute stream see it (exec/cuda/launch.cuh).
struct LaunchSpec {
  int ordinal = 0;
  StreamHandle stream = nullptr;
  int multiprocessors = 0;
  bool allow_tf32 = false;
  bool any_algorithm = false;
  std::string gpu;  // its name and compute capability: "NVIDIA H100 80GB HBM3 sm_90"
  // Device memory that counts against the device's limit and lives as long as the device, unless it is
  // released, which is for when nothing on the device uses it any more.
  std::function<void*(int64_t bytes)> allocate;
  std::function<void(void* memory)> release;
};

// Calls throw Error with the call and CUDA's name of what went wrong; those that give something back never
// throw. Streams and events belong to the device that is current when they are made. Thread-safe as CUDA is:
// one stream may be used from several threads; which device is current is a matter of each thread.
class Api : public StreamDriver, public GraphCapture {
 public:
  GraphCapture* capture() override { return this; }

  virtual int DeviceCount() = 0;  // in visible order; 0 where there is none
  virtual GpuProperties Properties(int ordinal) = 0;
  virtual MemoryInfo Memory(int ordinal) = 0;
  // Whether `from` can read and write memory of `to` from now on.
  virtual bool EnablePeerAccess(int from, int to) = 0;

  // On the current device. ResourceExhausted when there is not so much.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Free(int ordinal, void* memory) noexcept = 0;

  // The smallest groups that a GPU's multiprocessors can be divided into, by how many each has; none where it
  // cannot be divided. They need not add up to all that the GPU has.
  virtual std::vector<int> PartitionGroups(int ordinal) = 0;
  // Disjoint shares of so many groups each, in their order.
  virtual std::vector<Partition> CreatePartitions(int ordinal, const std::vector<int>& groups) = 0;
  virtual void DestroyPartition(PartitionHandle partition) noexcept = 0;

  // On the current device, or on a share of it; the lower the priority, the more urgent is its work.
  virtual StreamHandle CreateStream(PartitionHandle partition, int priority = 0) = 0;
  // The lowest and the highest number that is a priority on the current device.
  virtual std::pair<int, int> StreamPriorities() = 0;
  virtual void DestroyStream(StreamHandle stream) noexcept = 0;

  virtual std::unique_ptr<StreamContext> MakeLaunch(const LaunchSpec& spec) = 0;
  // On the current device, for a stream of it.
  virtual std::unique_ptr<DeviceLoad> MakeLoad(WorkClass work_class, const LaunchSpec& spec) = 0;

  // The function of this name of a binary that NVRTC has made, for the current device.
  virtual KernelHandle LoadKernel(const std::string& binary, const char* name) = 0;
  virtual void UnloadKernel(KernelHandle kernel) noexcept = 0;
  // On the current device. `argument`: the address of its only argument.
  virtual void LaunchKernel(KernelHandle kernel, StreamHandle stream, int64_t blocks, int threads,
                            void* argument) = 0;
};

}  // namespace lanescope::exec::cuda
