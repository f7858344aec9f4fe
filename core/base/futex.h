// SPDX-License-Identifier: Apache-2.0
// Threads, of one process or of several that share memory, that sleep until a word changes.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

namespace lanescope {

// Returns when someone wakes it, at `until_ns` of the kernel's CLOCK_MONOTONIC, at once if the word is not
// `seen`, and now and then for nothing. (std::atomic's wait gives its core away several times before it
// sleeps.)
void FutexWait(const std::atomic<uint32_t>& word, uint32_t seen, int64_t until_ns = INT64_MAX);
void FutexWake(const std::atomic<uint32_t>& word, int threads = INT_MAX);

}  // namespace lanescope
