// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/compile/free_ranges.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope::compile {

size_t FreeRanges::ChunkOf(const FreeRange& range) const {
  const auto found = std::partition_point(chunks_.begin(), chunks_.end(),
                                          [&](const Chunk& chunk) { return chunk.back() < range; });
  return static_cast<size_t>(found - chunks_.begin());
}

size_t FreeRanges::IndexIn(const Chunk& chunk, const FreeRange& range) {
  return static_cast<size_t>(std::lower_bound(chunk.begin(), chunk.end(), range) - chunk.begin());
}

void FreeRanges::Insert(const FreeRange& range) {
  if (chunks_.empty()) {
    chunks_.push_back({range});
    return;
  }
  const size_t c = std::min(ChunkOf(range), chunks_.size() - 1);
  Chunk& chunk = chunks_[c];
  chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(IndexIn(chunk, range)), range);
  if (chunk.size() <= kMaxChunk) return;
  const auto middle = chunk.begin() + kMaxChunk / 2;
  Chunk upper(middle, chunk.end());
  chunk.erase(middle, chunk.end());
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(c) + 1, std::move(upper));
}

void FreeRanges::Erase(const FreeRange& range) {
  const size_t c = ChunkOf(range);
  LANESCOPE_CHECK(c < chunks_.size());
  Chunk& chunk = chunks_[c];
  const size_t i = IndexIn(chunk, range);
  LANESCOPE_CHECK(i < chunk.size() && chunk[i].block == range.block);
  chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(i));
  if (chunk.empty()) chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(c));
}

}  // namespace lanescope::compile
