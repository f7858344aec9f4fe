// SPDX-License-Identifier: Apache-2.0
// A block has a tile of rows and goes over the columns tile by tile, once for each reduction that needs the
// one before, and once more for results; it multiplies a tile anew each time, so that no matrix is anywhere
// as a whole (Dao et al. 2022). A softmax takes one pass: the largest score and the sum together. Products
// that sum over rows have kernels of their own: a block has a tile of columns and goes over the rows, whose
// numbers (largest scores, sums) the first kernel has left in memory. So nothing is added up by two blocks,
// and results are the same from run to run.
#include "exec/cuda/fused_products.h"

#include "exec/cuda/product_writer.h"

namespace lanescope::exec::cuda {

ProductTexts WriteProductTexts(const Graph& graph, const Schedule& schedule, const Command& command,
                               std::span<const size_t> members) {
  const auto writer = [&] { return ProductWriter(graph, schedule, command, members); };
  const ProductWriter all = writer();
  ProductTexts texts;
  texts.dtype = all.dtype();
  texts.row_arrays = all.row_arrays();
  texts.row_bytes = all.row_bytes();
  auto by_rows = SharesOf(all.readers(), false, all.dtype());
  if (by_rows.empty() && all.HasRowResults()) by_rows.emplace_back();
  for (const auto& share : by_rows) texts.kernels.push_back(writer().WriteRows(share, texts.kernels.empty()));
  for (const auto& share : SharesOf(all.readers(), true, all.dtype()))
    texts.kernels.push_back(writer().WriteColumns(share));
  return texts;
}

}  // namespace lanescope::exec::cuda
