// SPDX-License-Identifier: Apache-2.0
#include "profiler/frame_buffer.h"

#include <algorithm>

namespace lanescope::profiler {

// Twice as much as is needed, as vectors do it, but not beyond what a frame needs.
size_t FrameBuffer::CapacityOf(size_t size) const {
  if (size <= bytes_.capacity()) return bytes_.capacity();
  return std::max(size, std::min(2 * size, most_));
}

size_t FrameBuffer::GrowthFor(size_t bytes) const {
  return CapacityOf(bytes_.size() + bytes) - bytes_.capacity();
}

void FrameBuffer::Append(std::string_view piece) {
  bytes_.reserve(CapacityOf(bytes_.size() + piece.size()));
  bytes_.insert(bytes_.end(), piece.begin(), piece.end());
}

void FrameBuffer::Take(size_t bytes) {
  if (bytes == 0) return;
  bytes_ = std::vector<char>(bytes_.begin() + static_cast<std::ptrdiff_t>(bytes), bytes_.end());
}

}  // namespace lanescope::profiler
