// SPDX-License-Identifier: Apache-2.0
// Reading text at an address that somebody else vouches for.
#pragma once

#include <cstddef>
#include <string>

namespace lanescope::profiler {

// Copies the text that ends with a zero at `address` into `text`, at most `limit` bytes of it. False where
// the memory cannot be read; nothing crashes. Where the kernel does not let a process read itself this way,
// the address is trusted.
bool ReadText(const char* address, size_t limit, std::string* text);

}  // namespace lanescope::profiler
