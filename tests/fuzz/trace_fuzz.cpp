// SPDX-License-Identifier: Apache-2.0
// Traces of ours and exports of Nsight Systems with hostile content, hostile bytes, or both: every reader of
// databases reads them or throws Error, and parts of a step that it finds add up. The input is read as
// decisions (hostile_database.h).
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/runs/run_diff.h"
#include "gui/model/trace_loader.h"
#include "tests/fuzz/hostile.h"
#include "tests/fuzz/trace_seeds.h"
#include "traces/export/export.h"
#include "traces/export/report_page.h"
#include "traces/read/recorded_schedule.h"
#include "traces/read/trace_view.h"
#include "traces/report/launch_origins.h"
#include "traces/report/statistics.h"
#include "traces/report/summary.h"
#include "traces/store/query_text.h"

namespace lanescope {
namespace {

void CheckSum(const StepParts& parts) {
  const double sum = parts.compute_ns + parts.transfer_ns + parts.waiting_ns + parts.contention_ns;
  if (!(std::abs(sum - parts.step_ns) <= 1e-6 * std::abs(parts.step_ns) + 1)) std::abort();
}

void ReadEverything(const std::string& path) {
  Try([&] {
    traces::TraceReader reader(path);
    for (const traces::TraceRunInfo& info : reader.Runs()) {
      const traces::TraceRun run = reader.ReadRun(info.id);
      traces::ComputeStatistics(run);
      const RunProfile profile = ProfileRun(traces::ViewOfRun(run));
      const RunDiff diff = DiffRuns(profile, profile, !run.ranges.empty());
      CheckSum(diff.parts_a);
      DiffVerdict(diff);
      for (const auto write : {traces::WritePerfetto, traces::WriteChrome, traces::WriteCsv})
        write(run, [](std::string_view) {});
      if (!run.commands.empty()) traces::WriteGraphviz(run, [](std::string_view) {});
      traces::TimelineData(run, 100);
      traces::WaitsText(traces::FindWaits(run), 80);
      const traces::LaunchOrigins origins(run);
      for (const OpDiff& op : diff.ops) {
        if (const traces::LaunchOrigin* origin = origins.Find(op.name)) traces::OriginText(*origin);
      }
    }
  });
  traces::SummaryOptions options[2];
  options[1].ranges = options[1].operations = true;
  for (const traces::SummaryOptions& option : options) {
    Try([&] {
      const traces::Summary summary = traces::Summarize(path, 1, option);
      traces::SummaryText(summary, {.nsys = option.operations});
      traces::SummaryCsv(summary, {.nsys = option.operations}, true);
      traces::SummaryJson(summary);
    });
  }
  Try([&] {
    traces::QueryTable table([](std::string_view) {});
    traces::RunQuery(path, "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 100", {}, &table);
    table.Finish();
  });
  Try([&] { gui::LoadTrace(path, nullptr, nullptr); });
}

HostileDatabase& Databases() {
  static HostileDatabase databases([] {
    std::vector<DatabaseFiles> seeds = OurSeeds();
    for (DatabaseFiles& seed : ExportSeeds()) seeds.push_back(std::move(seed));
    seeds.push_back(ImportSeed());
    return seeds;
  }());
  return databases;
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lanescope::ByteSource bytes(data, size);
  lanescope::ReadEverything(lanescope::Databases().Make(&bytes));
  return 0;
}
