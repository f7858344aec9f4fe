// SPDX-License-Identifier: Apache-2.0
// A place that holds tensors and runs commands: made of host memory and threads (host_device.h), or one whose
// work is issued ahead of time (stream_device.h).
#pragma once

#include <cstdint>

#include "core/machine/machine.h"
#include "exec/device/kernel.h"

namespace lanescope::exec {

class StreamDevice;

// Owned by a Session. Allocate and Free are called by one thread at a time; the rest from the queue drivers.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;
  // The kernels that serve operands in this device's memory.
  virtual const KernelRegistry& kernels() const { return KernelRegistry::Host(); }
  // Memory of this device, 256-byte aligned; this process can read and write it if there are no streams.
  // Throws ResourceExhausted past the device's limit.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory) = 0;
  // Host memory to device memory and back; blocking. For loading constants and reading variables, not for
  // scheduled copies.
  virtual void Upload(void* to, const void* from, int64_t bytes) = 0;
  virtual void Download(void* to, const void* from, int64_t bytes) = 0;
  // The threads that share a host kernel's loops.
  virtual WorkerTeam& team() = 0;
  // Itself as a device whose queues are streams, where commands are issued and run later; null for a device
  // of host memory, where a command has run when it returns.
  virtual StreamDevice* streams() { return nullptr; }
};

}  // namespace lanescope::exec
