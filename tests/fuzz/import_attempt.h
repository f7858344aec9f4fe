// SPDX-License-Identifier: Apache-2.0
// A file of another profiler, as a fuzzer makes it: it becomes an export that every report reads, or it is
// refused and no file is left behind.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/fuzz/hostile.h"
#include "tests/fuzz/scratch_folder.h"
#include "traces/export/export.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/launch_origins.h"
#include "traces/report/summary.h"
#include "traces/report/waits.h"

namespace lanescope {

inline void TryImport(const std::string& name, std::string_view bytes) {
  static const ScratchFolder in, out;
  const std::string trace = in.Write(name, bytes), database = out.File("trace.sqlite");
  const bool imported = Try([&] { traces::ImportTraces({trace}, database); });
  if (imported != std::filesystem::exists(database)) std::abort();
  if (imported) {
    // Not caught: what was written here is no foreign file.
    traces::TraceReader reader(database);
    for (const traces::TraceRunInfo& info : reader.Runs()) {
      const traces::TraceRun run = reader.ReadRun(info.id);
      traces::WaitsText(traces::FindWaits(run), 80);
      const traces::LaunchOrigins origins(run);
      for (const traces::TraceLaunch& launch : run.launches) {
        if (const traces::LaunchOrigin* origin = origins.Find(run.Text(launch.name))) {
          traces::OriginText(*origin);
          traces::CallersText(*origin);
        }
      }
      for (const auto write : {traces::WritePerfetto, traces::WriteChrome})
        write(run, [](std::string_view) {});
    }
    if (!reader.Runs().empty()) traces::SummaryText(traces::Summarize(database, 1, {}));
    std::filesystem::remove(database);
  }
  if (!out.IsEmpty()) std::abort();
}

}  // namespace lanescope
