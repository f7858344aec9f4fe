// SPDX-License-Identifier: Apache-2.0
// The figures of one run that comparisons and reports show.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/base/statistics.h"
#include "core/machine/copy_class.h"

namespace lanescope::traces {

struct TraceRun;

struct CopyTotals {
  int64_t count = 0, bytes = 0, ns = 0;
};

// Figures of the steps that count (TraceStep::counts).
struct RunStatistics {
  std::optional<Spread> step_ns;  // of TraceRun::time_steps
  int64_t steps = 0;              // whose activities are in the trace
  // Fraction of the steps' time (of the time from first to last activity, where there are no steps) in which
  // at least one launch ran on the device, by device number.
  std::map<int, double> busy;
  // Totals over all steps, by CopyClass; divide by `steps` for one step.
  std::array<CopyTotals, kNumCopyClasses> copies;
  std::map<int, int64_t> peak_bytes;  // by device: planned, or the largest of the timeline
  const CopyTotals& Copies(CopyClass copy_class) const { return copies[static_cast<size_t>(copy_class)]; }
};
RunStatistics ComputeStatistics(const TraceRun& run);

}  // namespace lanescope::traces
