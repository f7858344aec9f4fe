// SPDX-License-Identifier: Apache-2.0
// NumPy broadcasting of element-wise loops over dense tensors, reduced to runs: neighbouring dimensions in
// which every operand behaves alike are merged, so that the innermost one is a run in which an operand either
// advances or stays.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "core/graph/shape.h"
#include "core/graph/work_pieces.h"

namespace lanescope::exec {

// The merged iteration space of up to three operands. Value type; immutable after Make.
class BroadcastPlan {
 public:
  static constexpr int kMaxOperands = 3;

  // `output` is the broadcast shape of all operands (BroadcastShapes); all shapes exact.
  static BroadcastPlan Make(const Shape& output, std::span<const Shape> operands);

  int64_t elements() const { return elements_; }
  // Pieces that begin at multiples of so many elements, and have as many, differ only in their offsets; these
  // grow by a row's stride with every such number. 0: there is no such number.
  int64_t period() const;

  // A stretch of the output: `rows` runs of `n` elements that begin at element `begin`, dense in the output.
  // Operand k begins at element offset[k]; its runs are row[k] apart and its elements step[k] (0 or 1).
  struct Piece {
    int64_t begin;
    int64_t rows;
    int64_t n;
    std::array<int64_t, kMaxOperands> offset;
    std::array<int64_t, kMaxOperands> row;
    std::array<int64_t, kMaxOperands> step;
  };
  // Calls fn for pieces that cover the output elements [begin, end).
  void ForEachPiece(int64_t begin, int64_t end, const std::function<void(const Piece&)>& fn) const;

 private:
  int operands_ = 0;
  int rank_ = 0;  // merged dimensions, at least 2: rows and runs
  int64_t elements_ = 0;
  std::array<int64_t, Shape::kMaxRank + 2> sizes_{};
  std::array<std::array<int64_t, Shape::kMaxRank + 2>, kMaxOperands> strides_{};
};

// Elements of one block of an element-wise loop: about 64 KiB of output, so that blocks are long against the
// cost of handing them out and short against a tensor.
inline constexpr int64_t kElementGrain = kPieceElements;

}  // namespace lanescope::exec
