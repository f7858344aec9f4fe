// A place that holds tensors and runs commands. Host memory devices (the host itself and virtual GPUs) are in
// host_device.h.
#pragma once

#include <cstdint>

#include "core/machine.h"
#include "exec/kernel.h"

namespace lanescope::exec {

// Owned by a Session. Allocate and Free are called by one thread at a time; the rest from the queue drivers.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;
  // Memory of this device, 256-byte aligned. Throws ResourceExhausted past the device's limit.
  virtual void* Allocate(int64_t bytes) = 0;
  virtual void Free(void* memory) = 0;
  // Host memory to device memory and back; blocking. For loading constants and reading variables, not for
  // scheduled copies.
  virtual void Upload(void* to, const void* from, int64_t bytes) = 0;
  virtual void Download(void* to, const void* from, int64_t bytes) = 0;
  // The threads that share a kernel's loops.
  virtual WorkerTeam& team() = 0;
};

}  // namespace lanescope::exec
