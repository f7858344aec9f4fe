// SPDX-License-Identifier: Apache-2.0
// Records whose times a profiler could not take. Internal to traces.
#pragma once

#include <cstdint>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// Takes the events of one file, and keeps those that begin at 0 or before until all are known: a time of 0
// says that none could be taken where others are since 1970, and so does one of what a device did in no time,
// or in as long as since then. Of one thread.
class EarlyEvents {
 public:
  // The trace must outlive it.
  explicit EarlyEvents(ImportTrace* trace) : trace_(*trace) {}

  void Add(const ImportEvent& event);
  // Once the file is read, and what its times are behind is known: the rest becomes events, or is skipped.
  void Finish();
  // The first begin of the others; INT64_MAX: there is none.
  int64_t first_ns() const { return first_ns_; }

 private:
  ImportTrace& trace_;
  Spool<ImportEvent> early_;
  int64_t first_ns_ = INT64_MAX;
};

}  // namespace lanescope::traces
