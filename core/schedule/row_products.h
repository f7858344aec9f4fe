// SPDX-License-Identifier: Apache-2.0
// Matrix products in a launch that goes through a batch of matrices row by row, as attention does: one makes
// the scores, a chain of element-wise nodes and a softmax works on them, others read what comes of them. Only
// the rows of a block are anywhere at a time, so that the matrices need no memory (Rabe and Staats 2021, Dao
// et al. 2022; here whole rows at a time, not parts of them).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace lanescope {

// How a product stands to the rows of the matrices X of its launch.
enum class ProductPart : uint8_t {
  kMakes,      // X = A B: a row of X takes that row of A and all of B
  kByRows,     // X B: a row of the result takes that row of X
  kByColumns,  // A X^T: a column of the result takes that row of X
  kSums,       // X^T B or A X: every row of X adds to the whole result
};

struct RowProduct {
  ProductPart part = ProductPart::kMakes;
  int matrices = -1;  // which operand is X, 0 or 1; -1: none, it makes X
};
// `matrices`: which operand of the node is X, or -1.
RowProduct RowProductOf(const Node& node, int matrices);
// In a launch X is the operand that other nodes of it make. None where both operands are.
std::optional<RowProduct> RowProductIn(const Node& node, const FusedNode& member);

// `count` matrices of rows x columns.
struct MatrixBatch {
  int64_t count = 0, rows = 0, columns = 0;

  int64_t elements() const { return count * rows * columns; }
  bool operator==(const MatrixBatch&) const = default;
};
// By a shape of at least two dimensions: all but the last two are batches.
MatrixBatch MatricesOf(const Shape& shape);

// The matrices of a launch with products: those that the first of them makes.
std::optional<MatrixBatch> MatricesOfLaunch(const Graph& graph, std::span<const FusedNode> nodes);

// Elements of a row or a column of the result of a product that reads X, beside those that count X's own: of
// X B the columns of B. `other`: the shape of the other factor.
int64_t WidthOf(const RowProduct& product, const MatrixBatch& matrices, const Shape& other);

// Whether the kernels that are made for GPUs have such a product in them: a block keeps so many sums for each
// row or column of its tile. Modelled GPUs are taken to have the same kernels.
inline constexpr int64_t kWidestProduct = 256;
bool FitsGpuKernel(const RowProduct& product, const MatrixBatch& matrices, const Shape& other);

// Rows that a launch has in the cache at a time: a part of a matrix, or several whole ones. They bound what
// it takes to go through a matrix of the other factor for each block.
int64_t RowsOfBlock(const MatrixBatch& matrices);

}  // namespace lanescope
