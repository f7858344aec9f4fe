// SPDX-License-Identifier: Apache-2.0
// Names of activities that have none of their own: copies, memory sets, whole CUDA graphs.
// Internal to traces and gui.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanescope::traces {

inline constexpr std::string_view kMemsetName = "[CUDA memset]";
// "[CUDA memcpy HtoD]" and "[CUDA memcpy Host-to-Device]", by ENUM_CUDA_MEMCPY_OPER.
std::string NvprofCopyName(int64_t kind);
std::string NsysCopyName(int64_t kind);

// The text of an NVTX range without the arguments that PyTorch appends (", op_id = ..", ", seq = ..").
std::string_view RangeName(std::string_view text);

// A CUDA graph that is recorded as one activity a launch, instead of kernels and copies one by one.
inline constexpr std::string_view kGraphNamePrefix = "[CUDA graph ";

// "[CUDA graph 5]".
inline std::string GraphName(int64_t graph) {
  return std::string(kGraphNamePrefix) + std::to_string(graph) + "]";
}
inline bool IsGraphName(std::string_view name) { return name.starts_with(kGraphNamePrefix); }

// Stands for the name of a graph among ids of StringIds, of which -1 is none. Graph ids have 32 bits.
inline int64_t GraphNameId(int64_t graph) { return -2 - std::clamp<int64_t>(graph, 0, UINT32_MAX); }
inline int64_t GraphOfNameId(int64_t id) { return -2 - id; }

}  // namespace lanescope::traces
