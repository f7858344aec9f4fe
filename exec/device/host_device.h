// SPDX-License-Identifier: Apache-2.0
// The host and virtual GPUs: tensors in host memory, arithmetic by host threads.
#pragma once

#include <memory>
#include <unordered_map>

#include "exec/device/device.h"

namespace lanescope::exec {

class StreamDriver;

class HostDevice : public Device {
 public:
  // `pinning`: of the devices with streams that take part, its memory is pinned for their copies; null: it is
  // not.
  explicit HostDevice(const DeviceSpec& spec, StreamDriver* pinning = nullptr);
  ~HostDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  void* Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  void Upload(void* to, const void* from, int64_t bytes) override;
  void Download(void* to, const void* from, int64_t bytes) override;
  WorkerTeam& team() override { return *team_; }

 private:
  struct Block {
    int64_t mapped;  // whole pages
    int64_t asked;   // what counts against the limit
    bool pinned;
  };
  void Unmap(void* memory, const Block& block);

  DeviceSpec spec_;
  StreamDriver* pinning_;
  int64_t used_ = 0;
  std::unordered_map<void*, Block> blocks_;
  std::unique_ptr<WorkerTeam> team_;
};

}  // namespace lanescope::exec
