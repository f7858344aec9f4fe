// SPDX-License-Identifier: Apache-2.0
// The body of a fused kernel for nodes that read each other's results. Private to exec/cuda/fused_text.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "exec/cuda/fused_text.h"

namespace lanescope::exec::cuda {

struct UnitText {
  std::string body;   // statements that read `at` (a count, then addresses) and `block`
  int64_t count = 0;  // elements, or rows where some node reduces these
  int64_t blocks = 0;
  std::vector<FusedPointer> pointers;  // in the order of the addresses
};

UnitText WriteUnitText(const Graph& graph, const Schedule& schedule, const Command& command,
                       std::span<const size_t> members, int threads);

}  // namespace lanescope::exec::cuda
