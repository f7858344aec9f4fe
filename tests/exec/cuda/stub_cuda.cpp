// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/cuda/stub_cuda.h"

#include <sys/mman.h>

#include <algorithm>
#include <thread>

#include "core/base/error.h"
#include "tests/exec/cuda/stub_state.h"
#include "tests/exec/later_kernel.h"

namespace lanescope::exec::test {
namespace {

constexpr int64_t kPage = 4096;

}  // namespace

StubCuda::StubCuda(const StubOptions& options) : options_(options), random_(options.seed) {
  RegisterLaterKernels(&kernels_);
}

StubCuda::~StubCuda() {
  Protect(false);
  for (const auto& [memory, block] : device_) munmap(memory, static_cast<size_t>(block.bytes));
}

void StubCuda::FailCall(const std::string& call, int nth, Code code) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  failures_[call] = {nth, code};
}

void StubCuda::BreakGpu(int ordinal) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  broken_.insert(ordinal);
}

void StubCuda::Count(const std::string& call) {
  ++calls_[call];
  const auto failure = failures_.find(call);
  if (failure == failures_.end() || --failure->second.first > 0) return;
  const Code code = failure->second.second;
  failures_.erase(failure);
  Throw(code, "{} failed: cudaErrorStub", call);
}

// Work that is not enqueued would be missing from the graph: CUDA refuses it to a thread that captures.
void StubCuda::RefuseInCapture(const char* call) const {
  const bool captures = std::any_of(captures_.begin(), captures_.end(), [](const auto& capture) {
    return capture->open && capture->thread == std::this_thread::get_id();
  });
  if (captures) Throw(Code::kInternal, "{} failed: cudaErrorStreamCaptureUnsupported", call);
}

int StubCuda::Calls(const std::string& call) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

int64_t StubCuda::all_calls() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  int64_t all = 0;
  for (const auto& [call, count] : calls_) all += call.ends_with("Query") ? 0 : count;
  return all;
}

int64_t StubCuda::event_nodes() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return event_nodes_;
}

int64_t StubCuda::live_objects() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  return static_cast<int64_t>(device_.size() + host_.size() + pinned_.size() + streams_.size() +
                              events_.size() + graphs_.size()) +
         partitions_;
}

int64_t StubCuda::device_bytes(int ordinal) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  int64_t bytes = 0;
  for (const auto& [memory, block] : device_) bytes += block.ordinal == ordinal ? block.bytes : 0;
  return bytes;
}

cuda::GpuProperties StubCuda::Properties(int ordinal) {
  LANESCOPE_CHECK(ordinal >= 0 && ordinal < options_.gpus);
  const int multiprocessors = ordinal == 0 ? options_.first_multiprocessors : options_.multiprocessors;
  return {"Stub GPU", options_.memory_bytes,          90, multiprocessors, 2, 1980000, 2619000,
          5120,       fmt::format("stub {}", ordinal)};
}

void StubCuda::MakeCurrent(int ordinal) {
  LANESCOPE_CHECK(ordinal >= 0 && ordinal < options_.gpus);
  current_gpu = ordinal;
}

cuda::MemoryInfo StubCuda::Memory(int ordinal) {
  return {options_.memory_bytes - device_bytes(ordinal), options_.memory_bytes};
}

bool StubCuda::EnablePeerAccess(int from, int to) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaDeviceEnablePeerAccess");
  LANESCOPE_CHECK(from != to);
  return options_.peers;
}

void* StubCuda::Allocate(int64_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaMalloc");
  RefuseInCapture("cudaMalloc");
  const int64_t mapped = std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (device_bytes(current_gpu) + mapped > options_.memory_bytes)
    Throw(Code::kResourceExhausted, "cudaMalloc failed: cudaErrorMemoryAllocation");
  const int access = protected_depth_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* memory = mmap(nullptr, static_cast<size_t>(mapped), access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  LANESCOPE_CHECK(memory != MAP_FAILED);
  device_[static_cast<char*>(memory)] = {mapped, current_gpu};
  return memory;
}

void StubCuda::Free(int ordinal, void* memory) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto block = device_.find(static_cast<char*>(memory));
  LANESCOPE_CHECK(block != device_.end() && block->second.ordinal == ordinal);
  munmap(memory, static_cast<size_t>(block->second.bytes));
  device_.erase(block);
}

void* StubCuda::AllocateHost(int64_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  Count("cudaHostAlloc");
  RefuseInCapture("cudaHostAlloc");
  void* memory = ::operator new(static_cast<size_t>(bytes));
  host_.insert(memory);
  return memory;
}

void StubCuda::FreeHost(void* memory) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  LANESCOPE_CHECK(host_.erase(memory) == 1);
  ::operator delete(memory);
}

bool StubCuda::PinHost(void* memory, int64_t bytes) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  pinned_[memory] = bytes;
  return true;
}

void StubCuda::UnpinHost(void* memory) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  LANESCOPE_CHECK(pinned_.erase(memory) == 1);
}

std::vector<int> StubCuda::PartitionGroups(int) {
  return std::vector<int>(static_cast<size_t>(options_.partition_groups), 8);
}

std::vector<cuda::Partition> StubCuda::CreatePartitions(int, const std::vector<int>& groups) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::vector<cuda::Partition> made;
  for (const int group : groups) {
    made.push_back({reinterpret_cast<cuda::PartitionHandle>(new int(group)), 8 * group});
    ++partitions_;
  }
  return made;
}

void StubCuda::DestroyPartition(cuda::PartitionHandle partition) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  delete reinterpret_cast<int*>(partition);
  --partitions_;
}

void StubCuda::Protect(bool on) {
  protected_depth_ += on ? -1 : 1;
  if (protected_depth_ != (on ? 0 : 1)) return;
  for (const auto& [memory, block] : device_)
    mprotect(memory, static_cast<size_t>(block.bytes), on ? PROT_NONE : PROT_READ | PROT_WRITE);
}

bool StubCuda::IsDeviceMemory(const void* memory) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  auto* address = static_cast<char*>(const_cast<void*>(memory));
  const auto after = device_.upper_bound(address);
  if (after == device_.begin()) return false;
  const auto block = std::prev(after);
  return address < block->first + block->second.bytes;
}

}  // namespace lanescope::exec::test
