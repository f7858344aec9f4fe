// Hostile bytes as a trace: every reader of databases either reads them or throws Error, and parts of a step
// that it finds add up. Built with -fsanitize=fuzzer this is a libFuzzer target; with trace_replay.cpp, a
// program that replays databases and then tries mutations of them.
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.h"
#include "traces/query_text.h"
#include "traces/run_diff.h"
#include "traces/statistics.h"
#include "traces/summary.h"

namespace lanescope {
namespace {

template <typename Work>
void Try(Work work) {
  try {
    work();
  } catch (const Error& error) {
    // A broken invariant is a defect, whatever the input.
    if (error.code() == Code::kInternal) throw;
  }
}

void CheckSum(const StepParts& parts) {
  const double sum = parts.compute_ns + parts.transfer_ns + parts.waiting_ns + parts.contention_ns;
  if (!(std::abs(sum - parts.step_ns) <= 1e-6 * std::abs(parts.step_ns) + 1)) std::abort();
}

void ReadEverything(const std::string& path) {
  Try([&] {
    TraceReader reader(path);
    for (const TraceRunInfo& info : reader.Runs()) {
      const TraceRun run = reader.ReadRun(info.id);
      ComputeStatistics(run);
      const RunProfile profile = ProfileRun(run);
      const RunDiff diff = DiffRuns(profile, profile, !run.ranges.empty());
      CheckSum(diff.parts_a);
      DiffVerdict(diff);
    }
  });
  SummaryOptions options[2];
  options[1].ranges = options[1].operations = true;
  for (const SummaryOptions& option : options) {
    Try([&] {
      const Summary summary = Summarize(path, 1, option);
      SummaryText(summary, option.operations);
      SummaryJson(summary);
    });
  }
  Try([&] {
    QueryTable table([](std::string_view) {});
    RunQuery(path, "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 100", {}, &table);
    table.Finish();
  });
}

}  // namespace
}  // namespace lanescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("lanescope_fuzz_" + std::to_string(::getpid()) + ".db"))
          .string();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  lanescope::ReadEverything(path);
  std::filesystem::remove(path);
  return 0;
}
