// SPDX-License-Identifier: Apache-2.0
// Bytes of a stream until the frames that they are part of are whole.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace lanescope::profiler {

// Grows by what comes, and takes no more memory than the largest frame and one piece beside it. What is done
// with gives its memory back. Not thread-safe.
class FrameBuffer {
 public:
  // `most`: bytes of a frame with its header.
  explicit FrameBuffer(size_t most) : most_(most) {}

  void Append(std::string_view piece);
  // By how much capacity() grows where a piece of so many bytes is appended.
  size_t GrowthFor(size_t bytes) const;
  size_t capacity() const { return bytes_.capacity(); }
  bool empty() const { return bytes_.empty(); }
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }
  // The first so many bytes are done with.
  void Take(size_t bytes);

 private:
  size_t CapacityOf(size_t size) const;

  const size_t most_;
  std::vector<char> bytes_;
};

}  // namespace lanescope::profiler
