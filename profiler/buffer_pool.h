// SPDX-License-Identifier: Apache-2.0
// The buffers that CUPTI fills: all zero when handed out, made before they are needed.
#pragma once

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lanescope::profiler {

// Invariants: a slot's state says who owns its memory: the pool (free), CUPTI (lent), the reader (full),
// nobody (absent). Whoever moves a slot out of a state does so by compare-exchange, and publishes what it
// wrote to the slot with the release of the new state.
//
// Lend and Return are called by CUPTI from any number of threads at once; they take no lock and, but for what
// MayRefuse says, allocate nothing and make no system call but the wake-up of the reader. Everything else
// belongs to the reader: one thread.
class BufferPool {
 public:
  static constexpr size_t kBufferBytes = size_t{4} << 20;
  static constexpr size_t kMaxBuffers = 32;    // 128 MB
  static constexpr size_t kMostBuffers = 256;  // 1 GB, where none may be refused

  struct Full {
    uint8_t* data = nullptr;
    size_t bytes = 0;
    int slot = -1;
  };

  // Makes `ready` buffers; Replenish makes more, up to `most`.
  explicit BufferPool(size_t ready = 8, size_t most = kMaxBuffers);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Some versions of CUPTI crash without the buffer that they ask for. For them Lend makes buffers beyond the
  // pool, with one system call each, up to kMostBuffers.
  void MayRefuse(bool may) noexcept { may_refuse_.store(may, std::memory_order_relaxed); }
  // Null when all are in use; counted.
  uint8_t* Lend() noexcept;
  // False for memory that is not lent; counted.
  bool Return(uint8_t* data, size_t bytes) noexcept;

  // The buffer that was returned first; data is null when there is none.
  Full Take();
  // Zeroes the buffer and makes it free.
  void Recycle(const Full& buffer);
  // Makes a buffer when few are free.
  void Replenish();
  // Waits until a buffer was returned since the last call, or Wake was called, or the time is over.
  void WaitForWork(int milliseconds);
  void Wake() noexcept { sem_post(&work_); }

  int64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  int64_t unknown() const { return unknown_.load(std::memory_order_relaxed); }
  size_t CountFree() const;

 private:
  enum State : int { kAbsent, kFree, kLent, kFull };
  struct Slot {
    std::atomic<int> state{kAbsent};
    std::atomic<uint8_t*> data{nullptr};  // set once
    size_t bytes = 0;                     // while full
    uint64_t order = 0;                   // while full
  };
  void Add();
  // Makes a buffer in one of the first `limit` slots, which becomes the caller's; null if it cannot.
  Slot* Make(size_t limit, int flags) noexcept;

  const size_t most_;
  std::array<Slot, kMostBuffers> slots_;
  std::atomic<bool> may_refuse_{true};
  std::atomic<uint64_t> next_order_{0};
  std::atomic<int64_t> refused_{0}, unknown_{0};
  sem_t work_;
};

}  // namespace lanescope::profiler
