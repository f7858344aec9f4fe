// SPDX-License-Identifier: Apache-2.0
#include "exec/device/host_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/units.h"
#include "exec/device/stream_device.h"
#include "exec/device/thread_team.h"

namespace lanescope::exec {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace

HostDevice::HostDevice(const DeviceSpec& spec, StreamDriver* pinning)
    : spec_(spec), pinning_(pinning), team_(MakeThreadTeam(spec.workers)) {}

HostDevice::~HostDevice() {
  for (const auto& [memory, block] : blocks_) Unmap(memory, block);
}

void HostDevice::Unmap(void* memory, const Block& block) {
  if (block.pinned) pinning_->UnpinHost(memory);
  munmap(memory, static_cast<size_t>(block.mapped));
}

void* HostDevice::Allocate(int64_t bytes) {
  const int64_t rounded = std::max<int64_t>(4096, (bytes + 4095) / 4096 * 4096);
  if (spec_.memory_bytes > 0 && bytes > spec_.memory_bytes - used_) {
    Throw(Code::kResourceExhausted,
          "{} cannot give {}: {} of {} are in use; raise the limit in the machine file", spec_.local_name(),
          FormatBytes(bytes), FormatBytes(used_), FormatBytes(spec_.memory_bytes));
  }
  void* memory =
      mmap(nullptr, static_cast<size_t>(rounded), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    Throw(Code::kResourceExhausted, "the host has no {} left for {}", FormatBytes(rounded),
          spec_.local_name());
  }
  // Pages are touched now, so that the first step does not pay for them.
  if (rounded >= kHugePage) madvise(memory, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  std::memset(memory, 0, static_cast<size_t>(rounded));
  // Copies to and from memory that cannot be pinned are right too, but hold up whoever issues them.
  const bool pinned = pinning_ != nullptr && pinning_->PinHost(memory, rounded);
  blocks_[memory] = {rounded, bytes, pinned};
  used_ += bytes;
  return memory;
}

void HostDevice::Free(void* memory) {
  const auto found = blocks_.find(memory);
  LANESCOPE_CHECK(found != blocks_.end());
  Unmap(memory, found->second);
  used_ -= found->second.asked;
  blocks_.erase(found);
}

void HostDevice::Upload(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

void HostDevice::Download(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace lanescope::exec
