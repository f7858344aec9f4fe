// SPDX-License-Identifier: Apache-2.0
// Working memory of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanescope::exec {

// At least `elements` elements of the calling thread, on a cache line of their own, valid until the thread
// asks again with the same Purpose and type; what they hold is unspecified. Kept from call to call: fresh
// memory costs more than most kernels.
template <typename Purpose, typename T>
T* ThreadScratch(int64_t elements) {
  constexpr size_t kLine = 64;
  thread_local std::vector<T> memory;
  const size_t wanted = static_cast<size_t>(elements) + kLine / sizeof(T);
  if (memory.size() < wanted) {
    memory = {};  // nothing of the old is needed, so both need not exist at once
    memory.resize(wanted);
  }
  const size_t past = reinterpret_cast<uintptr_t>(memory.data()) % kLine;
  return memory.data() + (kLine - past) % kLine / sizeof(T);
}

}  // namespace lanescope::exec
