// SPDX-License-Identifier: Apache-2.0
// Devices whose work is issued ahead of time: what goes to a stream runs later, in the stream's order. This
// is all that the executor asks of such a backend. Of a device of host memory it asks none of it
// (Device::streams() is null there): a command has run when the call that runs it returns.
//
// What is to come, and where it fits:
// * A command that ends later than its kernel returns (a dequeue, a receive, a collective). On a stream every
//   command is one: what follows it waits for an event, on the device or on the host. On a host queue the
//   unit stays open, its queue's thread goes on, and whoever ends it hands its successors to their queues, by
//   HandoverLogs of its own. So nobody here holds a lock while a host kernel runs, and cancelling a step ends
//   such commands too.
// * A device of another process. It has no Device here. Commands of its queues are units of no queue
//   (IssuePlan::queue_of), and a copy to or from it is a command that ends later, given to a transport or a
//   PeerChannel. What Device::Allocate gives is an address for that device alone: nothing but its own kernels
//   and copies, Upload and Download looks behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/machine/work_class.h"
#include "core/schedule/schedule.h"
#include "exec/device/device.h"

namespace lanescope::exec {

class JointDriver;
class PeerDriver;

// A backend's own objects; null is none.
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;  // recorded, ready to be launched
using GraphNode = const void*;         // one piece of work of a recorded graph

// Stands for host memory where the ordinal of a physical device is asked for.
inline constexpr int kHostMemory = -1;

// Graphs, which a backend may offer: work that is issued once and launched as a whole. Work that is issued to
// the stream of a capture, and to streams that join it by events, is recorded instead of run; that concerns
// the calling thread alone.
class GraphCapture {
 public:
  virtual ~GraphCapture() = default;
  virtual void BeginCapture(StreamHandle stream) = 0;
  // All nodes of the capture that `stream` belongs to, so far.
  virtual std::vector<GraphNode> CapturedNodes(StreamHandle stream) = 0;
  virtual GraphHandle EndCapture(StreamHandle stream) = 0;
  // Ends a capture that went wrong.
  virtual void AbandonCapture(StreamHandle stream) noexcept = 0;
  // In a stream that is being captured `event` is recorded at every launch of the graph.
  virtual void RecordInGraph(EventHandle event, StreamHandle stream) = 0;
  virtual void LaunchGraph(GraphHandle graph, StreamHandle stream) = 0;
  virtual void DestroyGraph(GraphHandle graph) noexcept = 0;
};

// A backend's functions for streams. One for all of its devices; outlives them. Calls throw Error with what
// went wrong, those that give something back never throw. Thread-safe: one stream may be used from several
// threads.
class StreamDriver {
 public:
  virtual ~StreamDriver() = default;

  // The calling thread turns to this physical device; it does so before it makes an event or uses a stream.
  virtual void MakeCurrent(int) {}

  // Host memory that copies pass without holding up whoever issues them.
  virtual void* AllocateHost(int64_t bytes) = 0;
  virtual void FreeHost(void* memory) noexcept = 0;
  // Makes such memory of what others have allocated. False where the system does not let it.
  virtual bool PinHost(void* memory, int64_t bytes) noexcept = 0;
  virtual void UnpinHost(void* memory) noexcept = 0;

  // Returns when all that was issued to the stream has run. Throws what it failed with.
  virtual void Synchronize(StreamHandle stream) = 0;
  // Whether it has, without waiting for it. Throws the same.
  virtual bool IsEmpty(StreamHandle stream) = 0;

  // An event of the current device. `timed`: notes when it is reached.
  virtual EventHandle CreateEvent(bool timed) = 0;
  virtual void DestroyEvent(EventHandle event) noexcept = 0;
  virtual void Record(EventHandle event, StreamHandle stream) = 0;
  // Work that is issued to the stream from now on runs after the work behind which the event was recorded.
  virtual void Wait(StreamHandle stream, EventHandle event) = 0;
  virtual void SynchronizeEvent(EventHandle event) = 0;
  // Whether what it was last recorded behind has run, without waiting for it. Throws what that failed with.
  virtual bool IsReached(EventHandle event) = 0;
  // The time between two timed events of one device that have been reached.
  virtual int64_t ElapsedNs(EventHandle start, EventHandle end) = 0;

  // Between memories of physical devices, by ordinal, and the host (kHostMemory).
  virtual void Copy(StreamHandle stream, void* to, int to_ordinal, const void* from, int from_ordinal,
                    int64_t bytes) = 0;

  // Null: nothing can be recorded, everything is issued command by command.
  virtual GraphCapture* capture() { return nullptr; }
};

// A piece of work that measuring repeats.
class DeviceLoad {
 public:
  virtual ~DeviceLoad() = default;
  virtual double flops() const = 0;  // of one run
  virtual double bytes() const = 0;  // read plus written
  virtual void Enqueue() = 0;
};

// A device with streams, one for each kind of its queues. Several devices may be parts of one physical
// device.
class StreamDevice : public Device {
 public:
  StreamDevice* streams() final { return this; }
  virtual StreamDriver& driver() const = 0;
  virtual int ordinal() const = 0;  // of the physical device
  void MakeCurrent() const { driver().MakeCurrent(ordinal()); }
  virtual StreamHandle stream(QueueKind kind) const = 0;
  // For kernels on the compute stream.
  virtual StreamContext* launch() = 0;
  // The driver of launches on several of the backend's devices at once; null: there is none.
  virtual JointDriver* joint() { return nullptr; }
  // The channels to GPUs of other processes; null: there are none.
  virtual PeerDriver* peers() { return nullptr; }
  // Work of class kCompute or kMemory, for a stream of this device.
  virtual std::unique_ptr<DeviceLoad> MakeLoad(WorkClass work_class, StreamHandle stream) = 0;
  // Advice for work that fails after it was issued, for the end of the message; may be empty.
  virtual std::string advice() const { return ""; }
  // The kernel of a launch that runs several nodes, where RunsFused says that the device has such.
  virtual std::unique_ptr<Kernel> MakeFusedKernel(const Graph& graph, const Schedule& schedule,
                                                  const Command& command);
};

inline std::unique_ptr<Kernel> StreamDevice::MakeFusedKernel(const Graph&, const Schedule&, const Command&) {
  Throw(Code::kUnimplemented, "{} runs no launches of several nodes", spec().local_name());
}

}  // namespace lanescope::exec
