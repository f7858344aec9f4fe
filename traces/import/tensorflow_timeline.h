// SPDX-License-Identifier: Apache-2.0
// The timeline that TensorFlow's tools make of RunMetadata, as Chrome traces have it. Internal to traces.
#pragma once

#include <vector>

#include "traces/import/event_fields.h"
#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Gathers its ops, whose devices the names of processes tell, which may come after them. The trace and the
// names must outlive it. Of one thread.
class TensorFlowTimeline {
 public:
  TensorFlowTimeline(ImportTrace* trace, ImportNames* names) : trace_(*trace), names_(*names) {}

  // False: the event is no op.
  bool Add(const ChromeEvent& event);
  // Adds what the ops say to the trace, and takes its processes, which are devices; without ops, nothing.
  void Finish();

 private:
  struct Op {
    int64_t pid = 0, tid = 0, start_ns = 0, length_ns = 0;
    int node = 0, op = 0;  // names
  };
  ImportTrace& trace_;
  ImportNames& names_;
  std::vector<Op> ops_;
};

}  // namespace lanescope::traces
