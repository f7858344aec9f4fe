// SPDX-License-Identifier: Apache-2.0
// The bodies of fused kernels with products in them, as attention has (core/schedule/row_products.h). Private
// to exec/cuda/fused_text.cpp.
#pragma once

#include <span>
#include <vector>

#include "exec/cuda/fused_text.h"
#include "exec/cuda/fused_unit.h"

namespace lanescope::exec::cuda {

struct ProductTexts {
  std::vector<UnitText> kernels;  // one after the other; of kProductThreads threads, on the tiles of `dtype`
  DataType dtype = DataType::kFloat;
  int row_arrays = 0;     // that the first kernel leaves in scratch memory for the others
  int64_t row_bytes = 0;  // of each
};

ProductTexts WriteProductTexts(const Graph& graph, const Schedule& schedule, const Command& command,
                               std::span<const size_t> members);

}  // namespace lanescope::exec::cuda
