// The few CUDA calls that the backend's host logic makes, without CUDA's headers: implemented once for real
// (exec/cuda/module) and once as a recording stub (tests/exec/cuda).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/kernel.h"

namespace lanescope::exec::cuda {

// Opaque handles; null is none.
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;          // recorded, ready to be launched
using PartitionHandle = struct PartitionTag*;  // a share of a GPU's multiprocessors

struct GpuProperties {
  std::string name;
  int64_t memory_bytes = 0;
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  int copy_engines = 0;
  int64_t clock_khz = 0;
  int64_t memory_clock_khz = 0;
  int memory_bus_bits = 0;
};

struct MemoryInfo {
  int64_t free = 0;
  int64_t total = 0;
};

enum class CopyKind { kHostToDevice, kDeviceToHost, kWithinDevice };

struct Partition {
  PartitionHandle handle = nullptr;
  int multiprocessors = 0;
};

// What the kernels of one compute stream see (exec/cuda/launch.cuh).
struct LaunchSpec {
  int ordinal = 0;
  StreamHandle stream = nullptr;
  int multiprocessors = 0;
  bool allow_tf32 = false;
  // Device memory that counts against the device's limit and lives as long as the device.
  std::function<void*(int64_t bytes)> allocate;
};

// A recorded graph and which of its nodes each step of the recording added (Api::CapturedNodes).
using GraphNode = const void*;

// A piece of work that measuring repeats.
enum class LoadKind { kProduct, kStreaming };
class Load {
 public:
  virtual ~Load() = default;
  virtual double flops() const = 0;  // of one run
  virtual double bytes() const = 0;  // read plus written
  virtual void Enqueue() = 0;
};

// Calls throw Error with the call and CUDA's name of what went wrong; those that give something back never
// throw. Streams and events belong to the device that is current when they are made. Thread-safe as CUDA is:
// one stream may be used from several threads; which device is current is a matter of each thread.
class Api {
 public:
  virtual ~Api() = default;

  virtual int DeviceCount() = 0;  // in visible order; 0 where there is none
  virtual GpuProperties Properties(int ordinal) = 0;
  virtual void MakeCurrent(int ordinal) = 0;
  virtual MemoryInfo Memory(int ordinal) = 0;
  // Whether `from` can read and write memory of `to` from now on.
  virtual bool EnablePeerAccess(int from, int to) = 0;

  // On the current device. ResourceExhausted when there is not so much.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Free(int ordinal, void* memory) noexcept = 0;
  virtual void* AllocateHost(int64_t bytes) = 0;  // pinned, usable by all devices
  virtual void FreeHost(void* memory) noexcept = 0;
  // Pins memory that others have allocated. False where the system does not let it.
  virtual bool PinHost(void* memory, int64_t bytes) noexcept = 0;
  virtual void UnpinHost(void* memory) noexcept = 0;

  // The smallest groups of multiprocessors that a GPU can be divided into; 0 where it cannot.
  virtual int PartitionGroups(int ordinal) = 0;
  // Disjoint shares of so many groups each.
  virtual std::vector<Partition> CreatePartitions(int ordinal, const std::vector<int>& groups) = 0;
  virtual void DestroyPartition(PartitionHandle partition) noexcept = 0;

  // On the current device, or on a share of it.
  virtual StreamHandle CreateStream(PartitionHandle partition) = 0;
  virtual void DestroyStream(StreamHandle stream) noexcept = 0;
  virtual void Synchronize(StreamHandle stream) = 0;
  virtual EventHandle CreateEvent(bool timed) = 0;
  virtual void DestroyEvent(EventHandle event) noexcept = 0;
  virtual void Record(EventHandle event, StreamHandle stream) = 0;
  // Like Record; while the stream is being captured it becomes a node that records at every replay.
  virtual void RecordInGraph(EventHandle event, StreamHandle stream) = 0;
  virtual void Wait(StreamHandle stream, EventHandle event) = 0;
  virtual void SynchronizeEvent(EventHandle event) = 0;
  // Of two timed events of one device that are complete.
  virtual int64_t ElapsedNs(EventHandle start, EventHandle end) = 0;

  virtual void Copy(StreamHandle stream, void* to, const void* from, int64_t bytes, CopyKind kind) = 0;
  virtual void CopyPeer(StreamHandle stream, void* to, int to_ordinal, const void* from, int from_ordinal,
                        int64_t bytes) = 0;

  // What is issued on `stream`, and on the streams that join it by events, is recorded instead of run. The
  // capture concerns the calling thread alone.
  virtual void BeginCapture(StreamHandle stream) = 0;
  // All nodes of the capture that `stream` belongs to, so far.
  virtual std::vector<GraphNode> CapturedNodes(StreamHandle stream) = 0;
  virtual GraphHandle EndCapture(StreamHandle stream) = 0;
  // Ends a capture that went wrong.
  virtual void AbandonCapture(StreamHandle stream) noexcept = 0;
  virtual void LaunchGraph(GraphHandle graph, StreamHandle stream) = 0;
  virtual void DestroyGraph(GraphHandle graph) noexcept = 0;

  virtual std::unique_ptr<StreamContext> MakeLaunch(const LaunchSpec& spec) = 0;
  // On the current device, for a stream of it.
  virtual std::unique_ptr<Load> MakeLoad(LoadKind kind, const LaunchSpec& spec) = 0;
};

}  // namespace lanescope::exec::cuda
