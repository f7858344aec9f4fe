// SPDX-License-Identifier: Apache-2.0
#include "exec/kernels/broadcast.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"

namespace lanescope::exec {

BroadcastPlan BroadcastPlan::Make(const Shape& output, std::span<const Shape> operands) {
  LANESCOPE_CHECK(operands.size() <= static_cast<size_t>(kMaxOperands));
  BroadcastPlan plan;
  plan.operands_ = static_cast<int>(operands.size());
  plan.elements_ = output.NumElements();
  // Innermost first: sizes of the merged dimensions, and for each operand whether it advances in them.
  std::vector<int64_t> sizes;
  std::vector<std::array<bool, kMaxOperands>> moves;
  for (int back = 1; back <= output.rank(); ++back) {
    const int64_t size = output[output.rank() - back];
    if (size == 1) continue;
    std::array<bool, kMaxOperands> advance{};
    for (size_t k = 0; k < operands.size(); ++k) {
      const Shape& shape = operands[k];
      advance[k] = back <= shape.rank() && shape[shape.rank() - back] != 1;
      LANESCOPE_CHECK(!advance[k] || shape[shape.rank() - back] == size);
    }
    if (!sizes.empty() && moves.back() == advance) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
      moves.push_back(advance);
    }
  }
  while (sizes.size() < 2) {  // rows and a run always exist
    std::array<bool, kMaxOperands> advance{};
    if (sizes.empty()) advance.fill(true);
    sizes.push_back(1);
    moves.push_back(advance);
  }
  plan.rank_ = static_cast<int>(sizes.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    int64_t stride = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t dim = sizes.size() - 1 - i;
      plan.sizes_[dim] = sizes[i];
      plan.strides_[k][dim] = moves[i][k] ? stride : 0;
      if (moves[i][k]) stride *= sizes[i];
    }
  }
  if (operands.empty()) {
    for (size_t i = 0; i < sizes.size(); ++i) plan.sizes_[sizes.size() - 1 - i] = sizes[i];
  }
  return plan;
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
