// SPDX-License-Identifier: Apache-2.0
// A third backend, of threads: each stream is a thread that runs what is issued to it in its order, on host
// memory that stands for a device's. It records no graphs. Its devices are the virtual ones of this model.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "exec/device/backends.h"
#include "exec/device/stream_device.h"

namespace lanescope::exec::test {

inline constexpr char kStreamThreads[] = "stream threads";

// Thread-safe; outlives its devices.
class StreamThreads : public Backend, public StreamDriver {
 public:
  StreamThreads();

  // The copy that is issued as the `nth` from now on (1: the next) is refused.
  void RefuseCopy(int nth) { copies_until_refusal_ = nth; }
  // While held, streams run nothing.
  void Hold(bool held);
  int64_t commands_run() const { return commands_run_; }
  int64_t live_objects() const { return live_objects_; }  // streams, events, blocks of memory

  // Backend.
  bool Serves(const DeviceSpec& spec) const override { return spec.model == kStreamThreads; }
  IdVector<DeviceId, std::unique_ptr<Device>> MakeDevices(const Machine& machine,
                                                          const DeviceOptions& options) override;
  int CountGpus(std::string* reason) override;
  bool Load(std::string* reason) override;
  std::vector<int> UsableGpus(std::vector<std::string>*) override { return {}; }
  std::string IdOf(int) override { return ""; }
  Machine Describe(const std::vector<int>& ordinals, const GpuMemoryOptions& options) override;

  // StreamDriver.
  void* AllocateHost(int64_t bytes) override;
  void FreeHost(void* memory) noexcept override;
  bool PinHost(void*, int64_t) noexcept override { return false; }
  void UnpinHost(void*) noexcept override {}
  void Synchronize(StreamHandle stream) override;
  bool IsEmpty(StreamHandle stream) override;
  EventHandle CreateEvent(bool timed) override;
  void DestroyEvent(EventHandle event) noexcept override;
  void Record(EventHandle event, StreamHandle stream) override;
  void Wait(StreamHandle stream, EventHandle event) override;
  void SynchronizeEvent(EventHandle event) override;
  bool IsReached(EventHandle event) override;
  int64_t ElapsedNs(EventHandle start, EventHandle end) override;
  void Copy(StreamHandle stream, void* to, int to_ordinal, const void* from, int from_ordinal,
            int64_t bytes) override;

  // For its devices and kernels.
  StreamHandle CreateStream();
  void DestroyStream(StreamHandle stream) noexcept;
  void Enqueue(StreamHandle stream, std::function<void()> work);
  void* AllocateDevice(int ordinal, int64_t bytes);
  void FreeDevice(void* memory) noexcept;
  // The ordinal of the device whose memory it is, or kHostMemory.
  int OwnerOf(const void* memory) const;
  const KernelRegistry& kernels() const { return kernels_; }

 private:
  struct Block {
    int64_t bytes = 0;
    int ordinal = 0;
  };

  KernelRegistry kernels_;
  std::atomic<int> copies_until_refusal_{0};
  std::atomic<int64_t> commands_run_{0};
  std::atomic<int64_t> live_objects_{0};
  mutable std::mutex mutex_;
  std::condition_variable released_;
  bool held_ = false;
  std::map<const char*, Block> blocks_;  // by address
};

}  // namespace lanescope::exec::test
