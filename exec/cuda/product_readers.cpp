// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/product_readers.h"

#include "core/graph/ops/shape_rules.h"
#include "exec/cuda/product_tiles.h"

namespace lanescope::exec::cuda {

int OtherFactor(const Node& node, const FusedNode& product) {
  return product.inputs[RowProductIn(node, product)->matrices == 0 ? 1 : 0];
}

ProductReader ReaderOf(const Node& node, const FusedNode& product, size_t member, const MatrixBatch& matrices,
                       const Shape& other) {
  const RowProduct part = *RowProductIn(node, product);
  const ops::MatMulRule rule(node);
  const bool left = part.matrices == 0;
  ProductReader reader{};
  reader.member = member;
  reader.matrices = static_cast<size_t>(-1 - product.inputs[left ? 0 : 1]);
  reader.other = OtherFactor(node, product);
  reader.over_rows = part.part == ProductPart::kSums;
  const int64_t along = reader.over_rows ? matrices.rows : matrices.columns;
  const int64_t kept = reader.over_rows ? matrices.columns : matrices.rows;
  reader.width = WidthOf(part, matrices, other);
  // Stored as so many rows along the sum, or turned.
  const bool by_rows = left ? !rule.turn_b : rule.turn_a;
  reader.other_k = by_rows ? reader.width : 1;
  reader.other_w = by_rows ? 1 : along;
  reader.result_i = left ? reader.width : 1;
  reader.result_w = left ? 1 : kept;
  return reader;
}

std::vector<std::vector<ProductReader>> SharesOf(std::span<const ProductReader> readers, bool over_rows,
                                                 DataType dtype) {
  std::vector<std::vector<ProductReader>> shares;
  int64_t width = kWidestProduct;
  for (const ProductReader& reader : readers) {
    if (reader.over_rows != over_rows) continue;
    const int64_t tile = TileSize(dtype), own = (reader.width + tile - 1) / tile * tile;
    if (width + own > kWidestProduct) {
      shares.emplace_back();
      width = 0;
    }
    shares.back().push_back(reader);
    width += own;
  }
  return shares;
}

}  // namespace lanescope::exec::cuda
