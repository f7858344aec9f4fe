// SPDX-License-Identifier: Apache-2.0
#include "core/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace lanescope {
namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free, "the kernel reads the word itself");

void Futex(const std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* until) {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), operation, value, until, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

void FutexWait(const std::atomic<uint32_t>& word, uint32_t seen, int64_t until_ns) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  timespec until{};
  until.tv_sec = until_ns / kNsPerSecond;
  until.tv_nsec = until_ns % kNsPerSecond;
  Futex(word, FUTEX_WAIT_BITSET, seen, until_ns == INT64_MAX ? nullptr : &until);
}

void FutexWake(const std::atomic<uint32_t>& word, int threads) {
  Futex(word, FUTEX_WAKE_BITSET, static_cast<uint32_t>(threads), nullptr);
}

}  // namespace lanescope
