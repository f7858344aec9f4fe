// SPDX-License-Identifier: Apache-2.0
// Which keys the queries of a device see, where both lie in parts along the tokens. Internal to core.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/strategies/attention_region.h"
#include "core/strategies/ring_order.h"
#include "core/strategies/value_bounds.h"

namespace lanescope {

// Rows and columns of the scores of a device's queries with a block of keys.
struct BlockPart {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

class RingBlocks {
 public:
  RingBlocks(const Graph& graph, const GraphInfo& info, const Attention& attention, size_t devices,
             RingOrder order, ValueBounds* bounds);

  // The part that there is to compute: the least one that holds all that no mask hides for sure. None: all is
  // hidden. A device's own block is always seen whole.
  std::optional<BlockPart> Seen(size_t device, size_t block) const;
  // Whether anyone sees the block at this step of the ring or later; at step s it is s devices further.
  bool IsNeededFrom(size_t step, size_t block) const;
  // Scores that the busiest device computes, of so many.
  int64_t MostScores() const;
  int64_t rows() const { return rows_; }        // of a device
  int64_t columns() const { return columns_; }  // of a block
  // Places of a block's columns among all, as runs of first and size.
  std::vector<std::pair<int64_t, int64_t>> PlacesOf(size_t block, const BlockPart& part) const;

 private:
  size_t PieceOf(size_t device, size_t number) const {
    return PieceOfDevice(order_, devices_, device, number);
  }

  const size_t devices_;
  const RingOrder order_;
  int64_t rows_ = 0, columns_ = 0;
  std::vector<std::vector<char>> hidden_;  // by pieces of rows and columns
};

}  // namespace lanescope
