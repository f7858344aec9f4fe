// SPDX-License-Identifier: Apache-2.0
// A matrix product within a launch that goes through a batch of matrices row by row
// (core/schedule/row_products.h), on host memory. Internal to exec/run.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"
#include "core/graph/shape.h"
#include "core/schedule/row_products.h"

namespace lanescope::exec {

// Immutable: any number of threads are in Run at once.
class RowProductKernel {
 public:
  // For floats or doubles. `a`, `b`: shapes of the operands; that of X does not matter.
  RowProductKernel(const Node& node, const RowProduct& part, const MatrixBatch& matrices, const Shape& a,
                   const Shape& b);

  // The part that belongs to the elements [first, first + n) of X: whole matrices, or whole rows of one. X is
  // given from element `first` on, other operands and the result from their own first element on. Rows of a
  // matrix come in order where the product sums over them.
  void Run(int64_t first, int64_t n, const void* a, const void* b, void* result) const;

 private:
  struct Rows {
    int64_t matrix, first, count;
  };
  template <typename T>
  void RunBlock(int64_t first, int64_t n, const T* a, const T* b, T* result) const;
  template <typename T>
  void RunRows(const Rows& rows, const T* x, const T* other, T* result) const;
  template <typename T>
  void MakeRows(const Rows& rows, const T* a, const T* b, T* x) const;

  const RowProduct part_;
  const MatrixBatch matrices_;
  const bool turn_a_, turn_b_;
  const bool is_double_;
  int64_t a_matrix_ = 0, a_stride_ = 0;  // elements of an operand's matrix, and of its rows
  int64_t b_matrix_ = 0, b_stride_ = 0;
  int64_t inner_ = 0;  // of a product that makes X: elements of a sum
  int64_t width_ = 0;  // of others: columns of X B, rows of A X^T, the other size of a sum
};

}  // namespace lanescope::exec
