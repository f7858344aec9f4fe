// SPDX-License-Identifier: Apache-2.0
// The file that XLA's profiler writes beside an XPlane file for Chrome's viewer ("HOST.trace.json.gz").
// Internal to traces.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "traces/import/early_events.h"
#include "traces/import/event_fields.h"
#include "traces/import/import_trace.h"
#include "traces/import/xla_events.h"

namespace lanescope::traces {

// Processes are planes by their names, which come before their events, and threads are lines. All must
// outlive it. Of one thread.
class XlaViewerEvents {
 public:
  XlaViewerEvents(ImportTrace* trace, ImportNames* names, EarlyEvents* events)
      : trace_(*trace), events_(*events), xla_(trace, names) {}

  // False: the event is of no process that is a device or a host of XLA.
  bool Add(const ChromeEvent& event);
  // Once all events are added. Without any nothing changes.
  void Finish();

 private:
  const XlaLine* LineOf(int64_t pid, int64_t tid);
  void TakePlanes();

  ImportTrace& trace_;
  EarlyEvents& events_;
  XlaEvents xla_;
  std::optional<std::map<int64_t, XlaPlane>> planes_;        // by process; none before the first event
  std::map<std::pair<int64_t, int64_t>, XlaLine> lines_;     // by process and thread
  std::map<std::pair<int64_t, int64_t>, int> thread_names_;  // of planes
  int64_t added_ = 0;
};

}  // namespace lanescope::traces
