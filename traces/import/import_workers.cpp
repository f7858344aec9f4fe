// SPDX-License-Identifier: Apache-2.0
#include "traces/import/import_workers.h"

#include <algorithm>
#include <utility>

#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

bool AreOfOneProcess(const ImportTrace& a, const ImportTrace& b) {
  return a.process >= 0 && a.process == b.process && a.rank == b.rank && a.host == b.host;
}

bool Overlap(const RecordedSpan& a, const RecordedSpan& b) {
  return a.start_ns <= b.end_ns && b.start_ns <= a.end_ns;
}

}  // namespace

RecordedSpan SpanOf(const ImportTrace& trace) {
  RecordedSpan span;
  const int64_t shift = trace.base_ns - trace.clock_ahead_ns;
  trace.events.ForEach([&](const ImportEvent& event) {
    span.start_ns = std::min(span.start_ns, AddSaturating(event.start_ns, shift));
    span.end_ns = std::max(span.end_ns, AddSaturating(event.end_ns, shift));
  });
  trace.memory.ForEach([&](const ImportMemory& memory) {
    span.start_ns = std::min(span.start_ns, AddSaturating(memory.time_ns, shift));
    span.end_ns = std::max(span.end_ns, AddSaturating(memory.time_ns, shift));
  });
  return span;
}

std::vector<ImportWorker> FindWorkers(const std::vector<ImportTrace>& traces) {
  std::vector<ImportWorker> workers;
  std::vector<RecordedSpan> spans;
  for (size_t file = 0; file < traces.size(); ++file) {
    spans.push_back(SpanOf(traces[file]));
    const auto worker = std::ranges::find_if(workers, [&](const ImportWorker& files) {
      return AreOfOneProcess(traces[files.front()], traces[file]) &&
             std::ranges::none_of(files, [&](size_t other) { return Overlap(spans[other], spans[file]); });
    });
    if (worker == workers.end()) {
      workers.push_back({file});
    } else {
      worker->push_back(file);
    }
  }
  for (ImportWorker& files : workers)
    std::ranges::sort(files, {}, [&](size_t file) { return spans[file].start_ns; });
  return workers;
}

std::vector<RecordedSpan> FindSpans(const std::vector<ImportTrace>& traces,
                                    const std::vector<ImportWorker>& workers) {
  std::vector<RecordedSpan> of_files;
  for (const ImportTrace& trace : traces) {
    const RecordedSpan span = SpanOf(trace);
    if (span.start_ns <= span.end_ns) of_files.push_back(span);
  }
  std::ranges::sort(of_files, {}, &RecordedSpan::start_ns);
  const bool now_and_then = std::ranges::any_of(workers, [](const auto& files) { return files.size() > 1; });
  std::vector<RecordedSpan> spans;
  for (const RecordedSpan& span : of_files) {
    if (spans.empty() || (now_and_then && span.start_ns > spans.back().end_ns)) {
      spans.push_back(span);
      if (spans.size() > 1) spans.back().unrecorded_ns = span.start_ns - spans[spans.size() - 2].end_ns;
    } else {
      spans.back().end_ns = std::max(spans.back().end_ns, span.end_ns);
    }
  }
  return spans;
}

}  // namespace lanescope::traces
