#include "core/compile/free_ranges.h"

#include <algorithm>

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
  Chunk& chunk = chunks_[c];
  chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(IndexIn(chunk, range)));
  if (chunk.empty()) chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(c));
}

}  // namespace lanescope::compile
