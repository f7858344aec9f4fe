// SPDX-License-Identifier: Apache-2.0
// How fast any placement could be.
#pragma once

#include <cstdint>
#include <string_view>

namespace lanescope {
class TaskGraph;
struct StrategyInput;
}  // namespace lanescope

namespace lanescope::sims {

struct Delays;

// Each is a time that no step undercuts in the simulator with these costs, whatever the placement and the
// order: effects that it adds (gaps, hand-offs, shared links, interference) only slow a step down. Where
// nodes share launches (CompileRequest::fuse), those that may take no time in it.
struct LowerBound {
  // The longest way through the graph, each op on whatever device makes the way shortest, with the copies
  // that no choice avoids.
  int64_t path_ns = 0;
  // Users of a variable share a device: the largest such group on its fastest device.
  int64_t group_ns = 0;
  // All work on all devices at once, and the state of all groups in their memories: the linear relaxation.
  int64_t work_ns = 0;
  // Work split between host and GPUs, where what crosses passes the GPUs' copy engines.
  int64_t cut_ns = 0;
  bool fits = true;  // false: the state alone exceeds the memory of all devices

  int64_t step_ns = 0;      // the largest of them, with what a step adds around its commands
  std::string_view reason;  // "critical path", "state", "work", "links"
};

// `tasks` must be of the same input.
LowerBound FindLowerBound(const StrategyInput& input, const TaskGraph& tasks, const Delays& delays);

}  // namespace lanescope::sims
