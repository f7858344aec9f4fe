// SPDX-License-Identifier: Apache-2.0
// Several buffers in one stretch of scratch memory.
#pragma once

#include <cstdint>

namespace lanescope::exec::cuda {

// Offsets are multiples of 256 bytes.
class ScratchLayout {
 public:
  int64_t Add(int64_t bytes) {
    const int64_t at = bytes_;
    bytes_ += (bytes + 255) / 256 * 256;
    return at;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

}  // namespace lanescope::exec::cuda
