// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/row_products.h"

#include <algorithm>

#include "core/graph/ops/shape_rules.h"
#include "core/schedule/fusion.h"

namespace lanescope {
namespace {

// Elements of a block, about, and rows of one matrix at least: each block copies the other factor anew.
constexpr int64_t kBlock = 32768;
constexpr int64_t kFewestRows = 96;

}  // namespace

RowProduct RowProductOf(const Node& node, int matrices) {
  const ops::MatMulRule rule(node);
  if (matrices < 0) return {ProductPart::kMakes, -1};
  if (matrices == 0) return {rule.turn_a ? ProductPart::kSums : ProductPart::kByRows, 0};
  return {rule.turn_b ? ProductPart::kByColumns : ProductPart::kSums, 1};
}

std::optional<RowProduct> RowProductIn(const Node& node, const FusedNode& member) {
  const bool first = member.inputs[0] < 0, second = member.inputs[1] < 0;
  if (first && second) return std::nullopt;
  return RowProductOf(node, first ? 0 : second ? 1 : -1);
}

MatrixBatch MatricesOf(const Shape& shape) {
  MatrixBatch batch{1, shape[shape.rank() - 2], shape[shape.rank() - 1]};
  for (int d = 0; d < shape.rank() - 2; ++d) batch.count *= shape[d];
  return batch;
}

std::optional<MatrixBatch> MatricesOfLaunch(const Graph& graph, std::span<const FusedNode> nodes) {
  for (const FusedNode& member : nodes) {
    if (FusionRoleOf(graph.node(member.node)) == FusionRole::kProduct) return MatricesOf(member.shape);
  }
  return std::nullopt;
}

int64_t WidthOf(const RowProduct& product, const MatrixBatch& matrices, const Shape& other) {
  const int64_t along = product.part == ProductPart::kSums ? matrices.rows : matrices.columns;
  return other.NumElements() / matrices.count / along;
}

bool FitsGpuKernel(const RowProduct& product, const MatrixBatch& matrices, const Shape& other) {
  constexpr int64_t kMostRows = int64_t{1} << 30;
  return matrices.rows <= kMostRows && WidthOf(product, matrices, other) <= kWidestProduct;
}

int64_t RowsOfBlock(const MatrixBatch& matrices) {
  const int64_t whole = matrices.rows * matrices.columns;
  if (whole <= kBlock) return std::min(matrices.count, kBlock / whole) * matrices.rows;
  // All of about one height.
  const int64_t most = std::max(kBlock / matrices.columns, kFewestRows);
  const int64_t blocks = (matrices.rows + most - 1) / most;
  return (matrices.rows + blocks - 1) / blocks;
}

}  // namespace lanescope
