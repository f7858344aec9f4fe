// SPDX-License-Identifier: Apache-2.0
// Products that read the matrices of their launch, as its kernels compute them. Private to
// exec/cuda/fused_products.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/row_products.h"
#include "core/schedule/schedule.h"

namespace lanescope::exec::cuda {

// X B and the like: X is made by another member, `other` is the factor from memory.
struct ProductReader {
  size_t member;
  size_t matrices;  // the member that makes X
  int other;        // input of the command
  bool over_rows;   // sums over rows: the result has the columns of X
  int64_t width;
  int64_t other_k, other_w;    // elements from one to the next, along the sum and along the result
  int64_t result_i, result_w;  // along the rows or columns of X, and along the result's other side
};

// `other`: the shape of the factor from memory.
ProductReader ReaderOf(const Node& node, const FusedNode& product, size_t member, const MatrixBatch& matrices,
                       const Shape& other);
// Which operand of the command is the factor from memory.
int OtherFactor(const Node& node, const FusedNode& product);

// Readers that sum over rows, or the others, by kernel: each has as many as a block's registers have sums
// for.
std::vector<std::vector<ProductReader>> SharesOf(std::span<const ProductReader> readers, bool over_rows,
                                                 DataType dtype);

}  // namespace lanescope::exec::cuda
