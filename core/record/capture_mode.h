// SPDX-License-Identifier: Apache-2.0
// How much of what GPUs do goes into a trace beside a run's commands.
#pragma once

#include <array>
#include <string_view>

namespace lanescope {

enum class CaptureMode {
  kOff,
  kKernels,  // kernels, copies and memory sets
  kFull,     // and API calls, synchronizations, overheads
};
inline constexpr std::array<std::string_view, 3> kCaptureModeNames = {"off", "kernels", "full"};

}  // namespace lanescope
