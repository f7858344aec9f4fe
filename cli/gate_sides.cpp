// SPDX-License-Identifier: Apache-2.0
#include "cli/gate_sides.h"

#include <algorithm>
#include <utility>

#include "cli/trace_files.h"
#include "core/base/error.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"
#include "traces/report/statistics.h"

namespace lanescope::cli {
namespace {

study::MeasuredRun ReadRun(traces::TraceReader& reader, const traces::TraceRunInfo& info,
                           std::span<const study::Quantity> quantities) {
  traces::TraceRun run;
  const RunView view = traces::StreamView(reader, info.id, &run);
  int64_t peak_bytes = 0;
  for (const auto& [device, bytes] : traces::ComputeStatistics(run).peak_bytes) peak_bytes += bytes;
  study::MeasuredRun measured{study::SampleRun(view, peak_bytes, quantities), ProfileRun(view)};
  measured.sample.utc_ns = info.utc_ns;
  return measured;
}

std::vector<traces::TraceRunInfo> RunsToGate(traces::TraceReader& reader, const RunReference& wanted) {
  if (wanted.run > 0) {
    const traces::TraceRunInfo info = reader.RunInfoOf(wanted.run);
    if (info.simulated) {
      Throw(Code::kFailedPrecondition, "run {} of {} is a prediction; gate the graphs themselves", wanted.run,
            wanted.path);
    }
    return {info};
  }
  std::vector<traces::TraceRunInfo> runs = reader.Runs();
  std::erase_if(runs, [](const traces::TraceRunInfo& run) { return run.simulated || !run.complete; });
  if (runs.empty())
    Throw(Code::kFailedPrecondition, "{} holds no run that was measured to its end", wanted.path);
  if (runs.front().laid_out) {
    Throw(Code::kFailedPrecondition,
          "{} says no times, those shown are laid out; gate a trace of the profiler", wanted.path);
  }
  const auto differs = [&](const traces::TraceRunInfo& run) {
    return run.graph != runs.front().graph || run.strategy != runs.front().strategy;
  };
  if (const auto other = std::ranges::find_if(runs, differs); other != runs.end()) {
    Throw(Code::kFailedPrecondition,
          "{} holds runs of {} {} and of {} {}; name one, as in {}:{}, or keep each in a trace of its own",
          wanted.path, runs.front().graph, runs.front().strategy, other->graph, other->strategy, wanted.path,
          runs.front().id);
  }
  return runs;
}

}  // namespace

TraceSide ReadTraceSide(const std::string& text, std::span<const study::Quantity> quantities) {
  const RunReference wanted = ParseRunChoice(text, 0);
  traces::TraceReader reader(AsTrace(wanted.path));
  TraceSide side{text, {}, {}, {}};
  for (const traces::TraceRunInfo& info : RunsToGate(reader, wanted)) {
    study::MeasuredRun run = ReadRun(reader, info, quantities);
    run.sample.name = fmt::format("run {} of {}", info.id, wanted.path);
    side.runs.push_back(std::move(run.sample));
    side.profiles.push_back({info, std::move(run.profile), {}});
    side.references.push_back({wanted.path, info.id});
  }
  return side;
}

RunReference OnlyRunOf(const std::string& trace) {
  traces::TraceReader reader(AsTrace(trace));
  const std::vector<traces::TraceRunInfo> runs = RunsToGate(reader, {trace, 0});
  if (runs.size() > 1) {
    Throw(Code::kFailedPrecondition, "a command wrote {} runs in one round; let it write one", runs.size());
  }
  return {trace, runs.front().id};
}

study::MeasuredRun ReadOnlyRun(const std::string& trace, std::span<const study::Quantity> quantities) {
  const RunReference only = OnlyRunOf(trace);
  traces::TraceReader reader(AsTrace(trace));
  return ReadRun(reader, reader.RunInfoOf(only.run), quantities);
}

}  // namespace lanescope::cli
