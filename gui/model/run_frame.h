// SPDX-License-Identifier: Apache-2.0
// Facts of a run in a trace beside its activities, as the timeline needs it. Part of trace_loader.
#pragma once

#include <vector>

#include "gui/model/activity_scan.h"
#include "traces/read/trace_reader.h"

namespace lanescope::gui {

// `source`: what was opened and is called by its name, `path` or what that was imported from.
RunFrame FrameOf(const traces::TraceRun& run, const std::string& path, const std::string& source, bool ours);
// Memory counters, and for every thread its ranges with the API calls inside. Adds ops to the frame.
std::vector<RawLane> ThreadLanes(const traces::TraceRun& run, RunFrame* frame);
// Annotations of streams. Adds ops to the frame.
std::vector<RawLane> AnnotationLanes(const traces::TraceRun& run, RunFrame* frame);
// Waits of its steps, and the threads that fill its queues: their steps, in which they may wait too.
std::vector<RawLane> InputLanes(const traces::TraceRun& run, RunFrame* frame);
// How full its queues were.
std::vector<Lane> FillLanes(const traces::TraceRun& run);
std::vector<Lane> MemoryLanes(const traces::TraceRun& run, const RunFrame& frame);

}  // namespace lanescope::gui
