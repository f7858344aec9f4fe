// SPDX-License-Identifier: Apache-2.0
// Where in a program a range is: in which module and at which line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/read/trace_reader.h"
#include "traces/report/summary.h"

namespace lanescope::traces {

// "nn.Module: Linear_3", as PyTorch's profiler records modules; without that prefix "Linear_3".
std::optional<std::string_view> ModuleIn(std::string_view range);
// A line of a program, or what stands for one: "linear.py(96): forward", "<built-in function linear>".
bool IsPythonFrame(std::string_view range);

// The run must outlive it. Of one thread.
class ProgramPlaces {
 public:
  ProgramPlaces(const TraceRun& run, ProgramPlace kind);

  // The place of the innermost range of the kind around `range`, or itself; empty: there is none. Lines of
  // PyTorch and Triton, which launch what others ask for, are none.
  const std::string& Of(int range);
  // Whether any range of the run is of the kind.
  bool any() const;

 private:
  std::string PlaceIn(int range) const;

  const TraceRun& run_;
  const ProgramPlace kind_;
  const std::vector<int> around_;
  std::unordered_map<int, std::string> known_;  // by range
};

// Throws FailedPrecondition: a trace without any range of the kind.
[[noreturn]] void ThrowWithout(ProgramPlace place);

// Lets the range of what ran on devices be its place, whose name is the range's text; what is in none is in
// no range. Throws FailedPrecondition for a run without such places.
void PutIntoPlaces(ProgramPlace place, TraceRun* run);

}  // namespace lanescope::traces
