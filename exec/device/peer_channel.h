// SPDX-License-Identifier: Apache-2.0
// Transfers between a GPU of this process and one of another, from memory to memory, as the library of the
// devices makes them (NCCL on CUDA). What a backend may offer beside its streams (StreamDevice::peers).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lanescope::exec {

// This process' end of a connection of two GPUs. What is issued to one end waits on its GPU for the other's,
// so an end is given a transfer only when the other gets its counterpart without waiting for anything
// (PeerTransfers). No call waits for the other end, nor does the destructor. Used by one thread at a time;
// the device must outlive it.
class PeerChannel {
 public:
  virtual ~PeerChannel() = default;
  // Whether both ends have met. Throws what has gone wrong.
  virtual bool IsJoined() = 0;
  // Issues one transfer of memory of the device. Throws where that fails.
  virtual void Send(const void* data, int64_t bytes) = 0;
  virtual void Receive(void* data, int64_t bytes) = 0;
  // Whether it is through: the next may then be issued. Throws what it failed with.
  virtual bool IsThrough() = 0;
  // Ends the transfer that is under way, with whatever content; nobody touches its memory afterwards. The
  // channel is of no more use.
  virtual void Abort() noexcept = 0;
};

// The channel of one device. Thread-safe.
class PeerDriver {
 public:
  virtual ~PeerDriver() = default;
  // Names a connection that is to be made: both ends join under this text, which either has got from here.
  virtual std::string NewConnection() = 0;
  // Begins to join as end 0 or 1. Throws InvalidArgument for a text that is none, and what goes wrong.
  virtual std::unique_ptr<PeerChannel> Join(const std::string& connection, int end) = 0;
};

}  // namespace lanescope::exec
