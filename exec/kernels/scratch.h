// Working memory of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanescope::exec {

// At least `elements` elements of the calling thread, valid until the thread asks again with the same Purpose
// and type; what they hold is unspecified. Kept from call to call: fresh memory costs more than most kernels.
template <typename Purpose, typename T>
T* ThreadScratch(int64_t elements) {
  thread_local std::vector<T> memory;
  if (memory.size() < static_cast<size_t>(elements)) {
    memory = {};  // nothing of the old is needed, so both need not exist at once
    memory.resize(static_cast<size_t>(elements));
  }
  return memory.data();
}

}  // namespace lanescope::exec
