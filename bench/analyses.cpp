// SPDX-License-Identifier: Apache-2.0
// Analyses of large traces: how long they take, and how much memory at their peak. Goals: 60 bytes a kernel
// of a trace without steps; a run of 100,000 steps in 1 s.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/scratch_folder.h"
#include "core/graph/graph_io.h"
#include "core/record/recorder.h"
#include "core/record/run_info.h"
#include "core/runs/run_diff.h"
#include "core/strategies/strategy.h"
#include "sims/predict/predict.h"
#include "tests/support/random_graph.h"
#include "traces/export/report_page.h"
#include "traces/read/trace_view.h"
#include "traces/record/trace_writer.h"
#include "traces/report/summary.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

namespace fs = std::filesystem;

constexpr int kStreams = 16;

// Kernels of 200 names on 16 streams, as Nsight Systems exports them; with `calls` each beside the one that
// launched it.
std::string ExportOf(int64_t kernels, bool calls) {
  const std::string path =
      (bench::ScratchFolder() / fmt::format("export_{}_{}.sqlite", kernels, calls)).string();
  if (fs::exists(path)) return path;
  Database database(path, OpenMode::kCreate);
  database.Execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
      "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
      "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 200) "
      "INSERT INTO StringIds SELECT i, 'gemm_' || i FROM c;"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId "
      "INTEGER "
      "NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid "
      "INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridId INTEGER NOT NULL, "
      "graphNodeId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid "
      "INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL)");
  database.Execute(fmt::format(
      "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < {0} - 1) "
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1000 + i / {1} * 2000 + i % {1} * 37, "
      "2500 + i / {1} * 2000 + i % {1} * 37, 0, 1, 7 + i % {1}, i + 1, 1291845632, i % 200, i % 200, i, NULL "
      "FROM c",
      kernels, kStreams));
  if (calls) {
    database.Execute(
        fmt::format("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < {} - 1) "
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 500 + i * 125, 600 + i * 125, "
                    "1291845633, i + 1, 200, 0 "
                    "FROM c",
                    kernels));
  }
  return path;
}

// A run of some 23 commands a step.
std::string RunOf(int64_t steps) {
  const std::string path = (bench::ScratchFolder() / fmt::format("run_{}.db", steps)).string();
  if (fs::exists(path)) return path;
  const auto random = test::MakeRandomGraph(3, 16, 0);
  const Graph& graph = random.graph;
  const CompileRequest request = test::RequestFor(graph, random.fetches, {});
  const GraphInfo info = InferGraph(graph, {});
  const Machine machine = VirtualMachine(2, 1);
  const RooflineCost costs;
  const Placement placement = PlaceByStrategy("alternating", {graph, info, machine, costs, PlacerOptions()});
  const Schedule schedule = Compile(graph, info, request, placement, machine);
  sims::PredictionSettings settings;
  settings.draws = 0;
  const sims::Prediction prediction = sims::Predict(graph, info, schedule, machine, costs, settings);
  RunInfo run_info;
  run_info.graph = &graph;
  run_info.machine = &machine;
  run_info.placement = &placement;
  run_info.info = &info;
  TraceWriter writer(path);
  const int run = writer.BeginRun(run_info);
  writer.AddSchedule(run, schedule);
  sims::PublishSteps(schedule, prediction.simulation, static_cast<int>(steps), NowNs(), writer.Sink(run));
  writer.EndRun(run, {});
  writer.Close();
  return path;
}

// Resident memory above what the program had, at its peak.
class Peak {
 public:
  Peak() {
    std::ofstream("/proc/self/clear_refs") << 5;
    before_ = Kilobytes();
  }
  double Bytes() const { return 1024.0 * static_cast<double>(Kilobytes() - before_); }

 private:
  static int64_t Kilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
    }
    return 0;
  }
  int64_t before_ = 0;
};

template <typename Analysis>
void Analyse(benchmark::State& state, int64_t pieces, const char* what, const Analysis& analysis) {
  double bytes = 0;
  for (auto _ : state) {
    const Peak peak;
    analysis();
    bytes = std::max(bytes, peak.Bytes());
  }
  state.counters[what] = bytes / static_cast<double>(pieces);
}

// range(0): kernels; range(1): 1: with API calls.
void DiffOfKernels(benchmark::State& state) {
  const std::string path = ExportOf(state.range(0), state.range(1) != 0);
  const auto profile = [&] {
    TraceReader reader(path);
    TraceRun run;
    return ProfileRun(StreamView(reader, 1, &run));
  };
  Analyse(state, state.range(0), "bytes_per_kernel", [&] {
    const RunProfile a = profile(), b = profile();
    benchmark::DoNotOptimize(DiffRuns(a, b).ops.data());
  });
}
void ReportOfKernels(benchmark::State& state) {
  const std::string path = ExportOf(state.range(0), state.range(1) != 0);
  Analyse(state, state.range(0), "bytes_per_kernel", [&] {
    TraceReader reader(path);
    SummaryOptions options;
    options.idle_call = options.waits = true;
    benchmark::DoNotOptimize(Summarize(reader, 1, options).verdict.data());
    benchmark::DoNotOptimize(TimelineData(reader, 1, 60'000).data());
  });
}
BENCHMARK(DiffOfKernels)
    ->Args({1'000'000, 0})
    ->Args({1'000'000, 1})
    ->Args({10'000'000, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(ReportOfKernels)
    ->Args({1'000'000, 0})
    ->Args({1'000'000, 1})
    ->Args({10'000'000, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// range(0): steps.
void SummaryOfSteps(benchmark::State& state) {
  const std::string path = RunOf(state.range(0));
  Analyse(state, state.range(0), "bytes_per_step",
          [&] { benchmark::DoNotOptimize(Summarize(path, 1).verdict.data()); });
}
void ReportOfSteps(benchmark::State& state) {
  const std::string path = RunOf(state.range(0));
  Analyse(state, state.range(0), "bytes_per_step", [&] {
    TraceReader reader(path);
    SummaryOptions options;
    options.idle_call = true;
    benchmark::DoNotOptimize(Summarize(reader, 1, options).verdict.data());
    benchmark::DoNotOptimize(TimelineData(reader, 1, 60'000).data());
  });
}
BENCHMARK(SummaryOfSteps)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(ReportOfSteps)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace lanescope::traces
