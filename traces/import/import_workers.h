// SPDX-License-Identifier: Apache-2.0
// Which files are of one process, and when it was recorded. Internal to traces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/import/import_trace.h"

namespace lanescope::traces {

// The files of one process, by time: a profiler that records it now and then writes one for each span.
using ImportWorker = std::vector<size_t>;

// By their first file. Files are of one process where they name the same machine, rank and process, and were
// recorded one after the other.
std::vector<ImportWorker> FindWorkers(const std::vector<ImportTrace>& traces);

// On the clock of the first file, ns since 1970 where the files say so.
struct RecordedSpan {
  int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
  int64_t unrecorded_ns = 0;  // before it nothing recorded; what comes before that counts in the span before
};
// When a file was recorded: from its first to its last time.
RecordedSpan SpanOf(const ImportTrace& trace);

// When any file was recorded: one span, but where a process has several those with time between them that
// nobody recorded.
std::vector<RecordedSpan> FindSpans(const std::vector<ImportTrace>& traces,
                                    const std::vector<ImportWorker>& workers);

}  // namespace lanescope::traces
