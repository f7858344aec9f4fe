// SPDX-License-Identifier: Apache-2.0
// The CUDA C of a launch that runs several nodes (docs/reference/fusion.md): one kernel for all of them, made
// of the element's functors (exec/functors). Text only; nothing here needs CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace lanescope::exec::cuda {

// Where the address of an operand stands in the table.
struct FusedPointer {
  enum class Of : uint8_t { kInput, kOutput, kVariable };  // of the command; a variable by its input
  size_t entry = 0;
  Of of = Of::kInput;
  int operand = 0;
};

struct FusedText {
  // extern "C" __global__ void fused(TABLE), where TABLE is the table by value, or a pointer to it in device
  // memory where it is longer than kLongestTable.
  std::string text;
  int64_t blocks = 0;  // of `threads` threads each
  std::vector<uint64_t> table;
  std::vector<FusedPointer> pointers;

  bool by_value() const;
};

// Entries: 4 KiB is what every GPU takes as arguments.
inline constexpr size_t kLongestTable = 500;
inline constexpr int kFusedThreads = 256;

inline bool FusedText::by_value() const { return table.size() <= kLongestTable; }

// Launches of one structure have one text; sizes that it need not know, and addresses, are in the table.
// `threads`: a power of two. Throws Unimplemented for an op without a functor (RunsFusedOnHardware tells).
FusedText WriteFusedText(const Graph& graph, const Schedule& schedule, const Command& command,
                         int threads = kFusedThreads);

}  // namespace lanescope::exec::cuda
