// SPDX-License-Identifier: Apache-2.0
#include "profiler/buffer_pool.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstring>

namespace lanescope::profiler {
namespace {

// Fewer free buffers than this, and another one is made.
constexpr size_t kFewFree = 4;

}  // namespace

BufferPool::BufferPool(size_t ready, size_t most) : most_(std::clamp<size_t>(most, 1, kMaxBuffers)) {
  sem_init(&work_, 0, 0);
  for (size_t i = 0; i < std::min(ready, most_); ++i) Add();
}

BufferPool::~BufferPool() {
  for (Slot& slot : slots_) {
    if (uint8_t* data = slot.data.load()) munmap(data, kBufferBytes);
  }
  sem_destroy(&work_);
}

uint8_t* BufferPool::Lend() noexcept {
  for (Slot& slot : slots_) {
    int expected = kFree;
    if (slot.state.load(std::memory_order_relaxed) == kFree &&
        slot.state.compare_exchange_strong(expected, kLent, std::memory_order_acquire)) {
      return slot.data.load(std::memory_order_relaxed);
    }
  }
  if (!may_refuse_.load(std::memory_order_relaxed)) {
    if (Slot* slot = Make(slots_.size(), 0)) return slot->data.load(std::memory_order_relaxed);
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

bool BufferPool::Return(uint8_t* data, size_t bytes) noexcept {
  for (Slot& slot : slots_) {
    if (data == nullptr || slot.data.load(std::memory_order_acquire) != data) continue;
    if (slot.state.load(std::memory_order_acquire) != kLent) break;
    slot.bytes = std::min(bytes, kBufferBytes);
    slot.order = next_order_.fetch_add(1, std::memory_order_relaxed);
    slot.state.store(kFull, std::memory_order_release);
    sem_post(&work_);
    return true;
  }
  unknown_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

BufferPool::Full BufferPool::Take() {
  Full first;
  uint64_t order = UINT64_MAX;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.state.load(std::memory_order_acquire) != kFull || slot.order >= order) continue;
    order = slot.order;
    first = {slot.data.load(std::memory_order_relaxed), slot.bytes, static_cast<int>(i)};
  }
  return first;
}

void BufferPool::Recycle(const Full& buffer) {
  Slot& slot = slots_[static_cast<size_t>(buffer.slot)];
  std::memset(slot.data.load(std::memory_order_relaxed), 0, kBufferBytes);
  slot.state.store(kFree, std::memory_order_release);
}

void BufferPool::Replenish() {
  if (CountFree() < kFewFree) Add();
}

void BufferPool::Add() {
  // Populated, so that no page fault falls into the program's launches.
  if (Slot* slot = Make(most_, MAP_POPULATE)) slot->state.store(kFree, std::memory_order_release);
}

BufferPool::Slot* BufferPool::Make(size_t limit, int flags) noexcept {
  for (size_t i = 0; i < limit; ++i) {
    Slot& slot = slots_[i];
    int expected = kAbsent;
    if (!slot.state.compare_exchange_strong(expected, kLent, std::memory_order_acquire)) continue;
    void* memory =
        mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED) {
      slot.state.store(kAbsent, std::memory_order_release);
      return nullptr;
    }
    slot.data.store(static_cast<uint8_t*>(memory), std::memory_order_release);
    return &slot;
  }
  return nullptr;
}

void BufferPool::WaitForWork(int milliseconds) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += int64_t{milliseconds % 1000} * 1000000;
  if (until.tv_nsec >= 1000000000) {
    ++until.tv_sec;
    until.tv_nsec -= 1000000000;
  }
  if (sem_timedwait(&work_, &until) != 0) return;
  while (sem_trywait(&work_) == 0) {
  }
}

size_t BufferPool::CountFree() const {
  return static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.state.load(std::memory_order_acquire) == kFree;
  }));
}

}  // namespace lanescope::profiler
