// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/broadcast.h"

#include <algorithm>

#include "core/base/error.h"

namespace lanescope::exec {

BroadcastPlan BroadcastPlan::Make(const Shape& output, std::span<const Shape> operands) {
  LANESCOPE_CHECK(operands.size() <= static_cast<size_t>(kMaxOperands));
  BroadcastPlan plan;
  plan.operands_ = static_cast<int>(operands.size());
  plan.elements_ = output.NumElements();
  // Innermost first: sizes of the merged dimensions, and for each operand whether it advances in them.
  std::array<int64_t, Shape::kMaxRank + 2> sizes;
  std::array<std::array<bool, kMaxOperands>, Shape::kMaxRank + 2> moves;
  size_t rank = 0;
  for (int back = 1; back <= output.rank(); ++back) {
    const int64_t size = output[output.rank() - back];
    if (size == 1) continue;
    std::array<bool, kMaxOperands> advance{};
    for (size_t k = 0; k < operands.size(); ++k) {
      const Shape& shape = operands[k];
      advance[k] = back <= shape.rank() && shape[shape.rank() - back] != 1;
      LANESCOPE_CHECK(!advance[k] || shape[shape.rank() - back] == size);
    }
    if (rank > 0 && moves[rank - 1] == advance) {
      sizes[rank - 1] *= size;
    } else {
      sizes[rank] = size;
      moves[rank++] = advance;
    }
  }
  while (rank < 2) {  // rows and a run always exist
    moves[rank].fill(rank == 0);
    sizes[rank++] = 1;
  }
  plan.rank_ = static_cast<int>(rank);
  for (size_t i = 0; i < rank; ++i) plan.sizes_[rank - 1 - i] = sizes[i];
  for (size_t k = 0; k < operands.size(); ++k) {
    int64_t stride = 1;
    for (size_t i = 0; i < rank; ++i) {
      plan.strides_[k][rank - 1 - i] = moves[i][k] ? stride : 0;
      if (moves[i][k]) stride *= sizes[i];
    }
  }
  return plan;
}

int64_t BroadcastPlan::period() const {
  if (rank_ > 2) return 0;
  for (size_t k = 0; k < static_cast<size_t>(operands_); ++k) {
    if (strides_[k][0] != 0 || strides_[k][1] != 0) return sizes_[1];
  }
  return 1;
}

void BroadcastPlan::ForEachPiece(int64_t begin, int64_t end,
                                 const std::function<void(const Piece&)>& fn) const {
  const auto run_dim = static_cast<size_t>(rank_ - 1);
  const auto row_dim = static_cast<size_t>(rank_ - 2);
  const int64_t run = sizes_[run_dim];
  const int64_t rows = sizes_[row_dim];
  while (begin < end) {
    const int64_t column = begin % run;
    int64_t index = begin / run;
    const int64_t row = index % rows;
    index /= rows;
    Piece piece{};
    piece.begin = begin;
    if (column != 0 || end - begin < run) {
      piece.rows = 1;
      piece.n = std::min(run - column, end - begin);
    } else {
      piece.rows = std::min(rows - row, (end - begin) / run);
      piece.n = run;
    }
    for (size_t k = 0; k < static_cast<size_t>(operands_); ++k) {
      const auto& strides = strides_[k];
      int64_t offset = column * strides[run_dim] + row * strides[row_dim];
      int64_t rest = index;
      for (size_t dim = row_dim; dim-- > 0;) {
        offset += rest % sizes_[dim] * strides[dim];
        rest /= sizes_[dim];
      }
      piece.offset[k] = offset;
      piece.row[k] = strides[row_dim];
      piece.step[k] = strides[run_dim];
    }
    fn(piece);
    begin += piece.rows * piece.n;
  }
}

}  // namespace lanescope::exec
