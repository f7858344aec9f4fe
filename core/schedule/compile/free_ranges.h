// SPDX-License-Identifier: Apache-2.0
// The free ranges of an arena, ordered by size and then by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/schedule/compile/happens_before.h"

namespace lanescope::compile {

struct FreeRange {
  int64_t bytes = 0;
  int64_t offset = 0;
  int block = -1;  // the owner's number for it
  // How many commands it is free after, and the place of one of them: decides most cases without the owner's
  // data.
  int num_users = 0;
  HappensBefore::Place first_user = {};

  // No two ranges of a set have the same size and offset: they do not overlap, and none is empty.
  friend bool operator<(const FreeRange& a, const FreeRange& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.offset < b.offset;
  }
};

// A sorted sequence in chunks of bounded length: as an array to search and to walk through, with insertion
// and removal that move one chunk at most.
class FreeRanges {
 public:
  void Insert(const FreeRange& range);
  // The range must be there.
  void Erase(const FreeRange& range);
  // The first `tries` ranges of at least `bytes`: the first one that `accept` takes, -1 if none.
  template <typename Accept>
  int FindBlock(int64_t bytes, int tries, Accept accept) const {
    const FreeRange least{bytes, -1, -1};
    size_t c = ChunkOf(least);
    size_t i = c < chunks_.size() ? IndexIn(chunks_[c], least) : 0;
    for (; c < chunks_.size(); ++c, i = 0) {
      for (; i < chunks_[c].size(); ++i) {
        if (tries-- == 0) return -1;
        if (accept(chunks_[c][i])) return chunks_[c][i].block;
      }
    }
    return -1;
  }

 private:
  using Chunk = std::vector<FreeRange>;
  static constexpr size_t kMaxChunk = 64;

  // The first chunk whose last range is not before `range`; the number of chunks if there is none.
  size_t ChunkOf(const FreeRange& range) const;
  static size_t IndexIn(const Chunk& chunk, const FreeRange& range);

  std::vector<Chunk> chunks_;  // none is empty
};

}  // namespace lanescope::compile
