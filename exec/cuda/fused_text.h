// SPDX-License-Identifier: Apache-2.0
// The CUDA C of a launch that runs several nodes (docs/reference/fusion.md): one kernel for all of them, made
// of the element's functors (exec/functors); more where products sum over rows. Text only; nothing here needs
// CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace lanescope::exec::cuda {

// Where the address of an operand stands in the table.
struct FusedPointer {
  // Inputs, outputs and variables are the command's, a variable by its input. kRows: an array of scratch
  // memory, by number.
  enum class Of : uint8_t { kInput, kOutput, kVariable, kRows };
  size_t entry = 0;
  Of of = Of::kInput;
  int operand = 0;
};

struct FusedText {
  // extern "C" __global__ void fused(TABLE), where TABLE is the table by value, or a pointer to it in device
  // memory where it is longer than kLongestTable.
  std::string text;
  int64_t blocks = 0;
  int threads = 0;  // of a block
  std::vector<uint64_t> table;
  std::vector<FusedPointer> pointers;

  bool by_value() const;
};

// Entries: 4 KiB is what every GPU takes as arguments.
inline constexpr size_t kLongestTable = 500;
inline constexpr int kFusedThreads = 256;

inline bool FusedText::by_value() const { return table.size() <= kLongestTable; }

// Kernels that run one after the other on one stream.
struct FusedTexts {
  std::vector<FusedText> kernels;
  int row_arrays = 0;     // of scratch memory: one kernel writes them for the next
  int64_t row_bytes = 0;  // of each
};

// Launches of one structure have one text; sizes that it need not know, and addresses, are in the table.
// `threads`: a power of two; kernels with products have kProductThreads. Throws Unimplemented for an op
// without a functor (RunsFusedOnHardware tells).
FusedTexts WriteFusedTexts(const Graph& graph, const Schedule& schedule, const Command& command,
                           int threads = kFusedThreads);

}  // namespace lanescope::exec::cuda
