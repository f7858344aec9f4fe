// SPDX-License-Identifier: Apache-2.0
// A step of a run as a picture that stands alone: an SVG document without scripts, for notebooks and papers.
#pragma once

#include <cstdint>
#include <string>

#include "traces/read/trace_reader.h"

namespace lanescope::traces {

struct TimelineSvgOptions {
  int step = -1;           // -1: the one whose time is the median's
  int width = 900;         // pixels
  int64_t span_ns = 0;     // that the width stands for; 0: the step. Pictures of one span can be compared
  std::string title = {};  // empty: graph and strategy
};

// Devices' rows with their kernels, copies and communication in Okabe and Ito's colours; what is pointed at
// says name and time. Slices narrower than a pixel are drawn as one. Empty where no step has an activity.
std::string TimelineSvg(const TraceRun& run, const TimelineSvgOptions& options = {});

// Time (ns) of the step that is drawn; 0 where there is none.
int64_t TimelineSvgStepNs(const TraceRun& run, int step = -1);

}  // namespace lanescope::traces
