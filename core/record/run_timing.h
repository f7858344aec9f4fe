// SPDX-License-Identifier: Apache-2.0
// How the commands of physical GPUs were timed in a run, which costs the step that they are in.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lanescope {

enum class CommandTiming : uint8_t {
  kThreads,   // by the threads that run them; nothing on a GPU is timed
  kPairs,     // by pairs of events around them
  kProfiler,  // as a profiler's records
};
inline constexpr std::array<std::string_view, 3> kCommandTimingNames = {"threads", "events", "profiler"};

// A step of which nothing but the ends was timed: nothing lengthened it.
struct UntimedStep {
  int step = 0;
  int64_t start_ns = 0, end_ns = 0;
};

struct RunTiming {
  CommandTiming commands = CommandTiming::kThreads;
  int64_t pair_ns =
      0;  // kPairs: that one lengthened its step by, and that was taken out of the recorded times
  std::vector<UntimedStep> untimed = {};  // how long a step takes is said by these, where there are any
};

}  // namespace lanescope
