// SPDX-License-Identifier: Apache-2.0
#include "core/base/csv.h"

#include <fmt/core.h>

#include "traces/export/export.h"
#include "traces/export/timeline.h"

namespace lanescope::traces {

void WriteCsv(const TraceRun& run, const ExportOutput& output) {
  const Timeline timeline = MakeTimeline(run);
  const auto text = [&](int number) {
    return number < 0 ? std::string() : timeline.texts[static_cast<size_t>(number)];
  };
  const auto known = [](int64_t value) { return value < 0 ? std::string() : std::to_string(value); };
  output(CsvLine({"kind", "name", "op", "process", "track", "start_ns", "duration_ns", "bytes", "step",
                  "range", "shapes"}));
  for (const Timeline::Track& track : timeline.tracks) {
    const std::string& process = timeline.processes[static_cast<size_t>(track.process)].name;
    for (const int number : track.slices) {
      const Timeline::Slice& slice = timeline.slices[static_cast<size_t>(number)];
      output(
          CsvLine({std::string(SliceKindName(slice.kind)), timeline.Name(slice), text(slice.op), process,
                   track.name, std::to_string(slice.start_ns), std::to_string(slice.end_ns - slice.start_ns),
                   known(slice.bytes), known(slice.step), text(slice.range), text(slice.signature)}));
    }
  }
}

}  // namespace lanescope::traces
