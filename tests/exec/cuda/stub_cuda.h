// SPDX-License-Identifier: Apache-2.0
// A CUDA made of host memory: runs what is issued to streams as late and in as odd an order as streams and
// events allow, so that a missing dependency shows, and records the calls. Its kernels are the host's.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "exec/cuda/api.h"
#include "exec/cuda/cuda_module.h"

namespace lanescope::exec::test {

struct StubOptions {
  int gpus = 2;
  int64_t memory_bytes = int64_t{2} << 30;
  int multiprocessors = 132;
  int first_multiprocessors = 132;  // of GPU 0
  int partition_groups = 16;        // of 8 multiprocessors each
  bool peers = true;
  uint64_t seed = 1;  // of the order in which streams take turns
};

// Device memory is unreadable except while the device works on it, so host code that touches it crashes.
// Thread-safe.
class StubCuda : public cuda::CudaModule, public cuda::Api {
 public:
  explicit StubCuda(const StubOptions& options = {});
  ~StubCuda() override;

  cuda::Api& api() override { return *this; }
  const KernelRegistry& kernels() override { return kernels_; }

  // The call of this name fails the `nth` time from now on (1: the next time).
  void FailCall(const std::string& call, int nth, Code code = Code::kInternal);
  // All work on this GPU from now on fails, and all that follows.
  void BreakGpu(int ordinal);
  int Calls(const std::string& call) const;
  // But for questions whether something has been reached: there are as many as a thread has time for.
  int64_t all_calls() const;
  // Nodes of launched graphs that record an event which notes its time.
  int64_t event_nodes() const;
  int64_t live_objects() const;  // streams, events, graphs, partitions, pinned and device allocations
  int64_t device_bytes(int ordinal) const;
  // How many streams have been made, by priority.
  std::map<int, int> streams_by_priority() const { return streams_by_priority_; }
  // Copies that went straight between two GPUs, and inside one.
  int peer_copies() const { return Calls("cudaMemcpyPeerAsync"); }

  int DeviceCount() override { return options_.gpus; }
  cuda::GpuProperties Properties(int ordinal) override;
  void MakeCurrent(int ordinal) override;
  cuda::MemoryInfo Memory(int ordinal) override;
  bool EnablePeerAccess(int from, int to) override;
  void* Allocate(int64_t bytes) override;
  void Free(int ordinal, void* memory) noexcept override;
  void* AllocateHost(int64_t bytes) override;
  void FreeHost(void* memory) noexcept override;
  bool PinHost(void* memory, int64_t bytes) noexcept override;
  void UnpinHost(void* memory) noexcept override;
  std::vector<int> PartitionGroups(int ordinal) override;
  std::vector<cuda::Partition> CreatePartitions(int ordinal, const std::vector<int>& groups) override;
  void DestroyPartition(cuda::PartitionHandle partition) noexcept override;
  StreamHandle CreateStream(cuda::PartitionHandle partition, int priority) override;
  std::pair<int, int> StreamPriorities() override { return {-5, 0}; }
  void DestroyStream(StreamHandle stream) noexcept override;
  void Synchronize(StreamHandle stream) override;
  bool IsEmpty(StreamHandle stream) override;
  EventHandle CreateEvent(bool timed) override;
  void DestroyEvent(EventHandle event) noexcept override;
  void Record(EventHandle event, StreamHandle stream) override;
  void RecordInGraph(EventHandle event, StreamHandle stream) override;
  void Wait(StreamHandle stream, EventHandle event) override;
  void SynchronizeEvent(EventHandle event) override;
  bool IsReached(EventHandle event) override;
  int64_t ElapsedNs(EventHandle start, EventHandle end) override;
  void Copy(StreamHandle stream, void* to, int to_ordinal, const void* from, int from_ordinal,
            int64_t bytes) override;
  void BeginCapture(StreamHandle stream) override;
  std::vector<GraphNode> CapturedNodes(StreamHandle stream) override;
  GraphHandle EndCapture(StreamHandle stream) override;
  void AbandonCapture(StreamHandle stream) noexcept override;
  void LaunchGraph(GraphHandle graph, StreamHandle stream) override;
  void DestroyGraph(GraphHandle graph) noexcept override;
  // Kernels that were made at run time are counted, and write nothing.
  cuda::KernelHandle LoadKernel(const std::string& binary, const char* name) override;
  void UnloadKernel(cuda::KernelHandle kernel) noexcept override;
  void LaunchKernel(cuda::KernelHandle kernel, StreamHandle stream, int64_t blocks, int threads,
                    void* argument) override;
  std::unique_ptr<StreamContext> MakeLaunch(const cuda::LaunchSpec& spec) override;
  std::unique_ptr<DeviceLoad> MakeLoad(WorkClass work_class, const cuda::LaunchSpec& spec) override;

  bool IsCaptured(StreamHandle stream) const;
  // By the work that runs: it has taken so long.
  void Pass(int64_t ns);

  // For the stub's kernels.
  void Enqueue(StreamHandle stream, std::function<void()> work);
  // Work that is asked at the front of its stream whether it may run, and that another thread may have to let
  // go on. A thread that waits for it longer than kMostTogether ends the test.
  void EnqueueTogether(StreamHandle stream, std::function<bool()> may_run, std::function<void()> work);
  static constexpr std::chrono::seconds kMostTogether{20};
  // The ordinal that the calling thread has turned to.
  static int Current();
  bool IsDeviceMemory(const void* memory) const;

 private:
  struct Stream;
  struct Event;
  struct Graph;
  struct Capture;
  struct Work {
    std::function<void()> run;
    std::function<bool()> may_run = {};  // not null: of EnqueueTogether
    Event* wait = nullptr;               // runs only when this event has reached `generation`
    int64_t generation = 0;
    size_t captured_wait = SIZE_MAX;  // inside a graph: the node that must have run
    size_t node = 0;
  };
  struct Block {
    int64_t bytes = 0;
    int ordinal = 0;
  };

  Stream* At(StreamHandle stream) const { return reinterpret_cast<Stream*>(stream); }
  Event* At(EventHandle event) const { return reinterpret_cast<Event*>(event); }
  void Count(const std::string& call);
  void RefuseInCapture(const char* call) const;
  void Add(Stream* stream, Work work);
  void CompleteEvent(Event* event);
  void RunUntil(std::unique_lock<std::recursive_mutex>* lock, const std::function<bool()>& done);
  bool RunWhatCan(const std::function<bool()>& done);
  bool RunOneOf(std::vector<std::deque<Work>*> queues, const std::function<bool(const Work&)>& ready,
                const std::function<void(const Work&)>& finished);
  void RunGraph(const Graph& graph);
  void CheckGpu(int ordinal);
  void Protect(bool on);
  uint64_t Random(uint64_t below);

  StubOptions options_;
  KernelRegistry kernels_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, int> calls_;
  std::map<std::string, std::pair<int, Code>> failures_;
  std::set<int> broken_;
  std::map<char*, Block> device_;  // device memory by address
  std::set<void*> host_;
  std::map<void*, int64_t> pinned_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::set<Event*> events_;
  std::set<Graph*> graphs_;
  std::vector<std::unique_ptr<Capture>> captures_;
  std::map<int, int> streams_by_priority_;
  int64_t event_nodes_ = 0;
  int partitions_ = 0;
  int protected_depth_ = 0;
  int64_t clock_ns_ = 0;
  uint64_t random_;
};

}  // namespace lanescope::exec::test
