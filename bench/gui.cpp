// SPDX-License-Identifier: Apache-2.0
// The timeline: drawing 10 million slices, opening a trace of them, and answering an edit of a large graph.
#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "bench/scratch_folder.h"
#include "core/base/file.h"
#include "core/graph/graph_io.h"
#include "core/record/recorder.h"
#include "core/record/run_info.h"
#include "core/strategies/strategy.h"
#include "gui/document/document.h"
#include "gui/model/draw_plan.h"
#include "gui/model/minimap.h"
#include "gui/model/run_builder.h"
#include "gui/model/trace_loader.h"
#include "sims/predict/predict.h"
#include "tests/support/random_graph.h"
#include "traces/record/trace_writer.h"
#include "traces/store/sqlite.h"

namespace lanescope::gui {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSlices = 10'000'000;
constexpr int kLanes = 16;

// `overlapping`: a slice lasts as long as some thousand others take to begin.
std::shared_ptr<const RunData> LargeRun(bool overlapping) {
  RunData run;
  for (int i = 0; i < 400; ++i) {
    OpEntry op;
    op.name = "model/layer" + std::to_string(i % 40) + "/op" + std::to_string(i);
    op.op = "Op" + std::to_string(i % 23);
    op.node = i;
    run.ops.push_back(std::move(op));
  }
  std::mt19937 rng(1);
  for (int lane = 0; lane < kLanes; ++lane) {
    RunDevice device;
    device.label = "GPU:" + std::to_string(lane);
    run.devices.push_back(device);
    RawLane raw;
    raw.device = lane;
    raw.pieces.emplace_back();
    int64_t time = 0;
    for (int64_t i = 0; i < kSlices / kLanes; ++i) {
      time += static_cast<int64_t>(rng() % 300);
      const int64_t end = time + 50 + static_cast<int64_t>(rng() % (overlapping ? 500'000 : 2000));
      raw.pieces.front().slices.push_back({time, end, static_cast<int32_t>(rng() % 400), -1, -1});
      if (!overlapping) time = end;
    }
    int64_t left_out = 0;
    run.lanes.push_back(BuildLane(&raw, &left_out));
  }
  return FinishRun(std::move(run), {});
}

// range(0): how much of the time is visible, in millionths.
void DrawPlanOfTenMillion(benchmark::State& state) {
  static const std::shared_ptr<const RunData> run = LargeRun(false);
  Timeline timeline;
  timeline.Add(run);
  const auto axes = AlignRuns(timeline, Alignment::kStart);
  const auto [begin, end] = AxisExtent(timeline, axes);
  const Layout layout = ComputeLayout(timeline, {}, {});
  ViewTransform view;
  view.SetWidth(1600);
  view.SetExtent(begin, end);
  const double span = (end - begin) * static_cast<double>(state.range(0)) * 1e-6;
  view.Show(begin + 0.3 * (end - begin - span), begin + 0.3 * (end - begin - span) + span);
  Highlight highlight;
  highlight.op = timeline.FindIdentity("model/layer7/op7");
  DrawOptions options;
  options.height_px = 900;
  DrawPlan plan;
  for (auto _ : state) {
    BuildDrawPlan(timeline, layout, axes, view, highlight, options, &plan);
    benchmark::DoNotOptimize(plan.lanes.slices.data());
  }
  state.counters["bytes_per_slice"] =
      static_cast<double>(run->MemoryBytes()) / static_cast<double>(run->num_slices);
  state.counters["rectangles"] = static_cast<double>(plan.lanes.slices.size());
  state.counters["columns"] = static_cast<double>(plan.lanes.columns.size());
}
BENCHMARK(DrawPlanOfTenMillion)
    ->Arg(1000000)
    ->Arg(100000)
    ->Arg(20000)
    ->Arg(5000)
    ->Arg(200)
    ->Unit(benchmark::kMillisecond);

// range(0): 1: slices overlap, so that each lane has thousands of rows.
void MinimapOfTenMillion(benchmark::State& state) {
  const std::shared_ptr<const RunData> run = LargeRun(state.range(0) != 0);
  Timeline timeline;
  timeline.Add(run);
  const auto axes = AlignRuns(timeline, Alignment::kStart);
  for (auto _ : state) benchmark::DoNotOptimize(BuildMinimap(timeline, axes, 1600).data());
  size_t rows = 0;
  for (const Lane& lane : run->lanes) rows += lane.rows.size();
  state.counters["rows"] = static_cast<double>(rows);
}
BENCHMARK(MinimapOfTenMillion)->ArgName("overlap")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// 10 million kernels as Nsight Systems exports them.
const std::string& ExportOfTenMillion() {
  static const std::string made = [] {
    const std::string path = (bench::ScratchFolder() / "export.sqlite").string();
    traces::Database database(path, traces::OpenMode::kCreate);
    database.Execute(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
        "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 1999) "
        "INSERT INTO StringIds SELECT i, 'void kernel_' || i || '(float const*, float*, int)' FROM c;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, "
        "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT "
        "NULL, "
        "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT "
        "NULL, "
        "mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, "
        "gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, "
        "blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, "
        "dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, "
        "localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, graphNodeId INTEGER)");
    database.Execute(fmt::format(
        "BEGIN; WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < {0} - 1) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT (i / {1}) * 1000, (i / {1}) * 1000 + 100 + i * 37 % "
        "800, "
        "i % {1}, i % {1} + 1, NULL, 7, i + 1, 282574488338432, i * 31 % 2000, i * 31 % 2000, NULL, 1, 1, "
        "32, "
        "1 + i % 512, 1, 1, 256, 1, 1, 0, 4096, 0, 0, i, NULL FROM c; COMMIT",
        kSlices, kLanes));
    return path;
  }();
  return made;
}

// A run of a random graph, for as many steps as make `slices`.
void WriteRun(const std::string& path, const Graph& graph, const CompileRequest& request, int gpus,
              int64_t slices) {
  const GraphInfo info = InferGraph(graph, {});
  const Machine machine = VirtualMachine(gpus, 1);
  const RooflineCost costs;
  const Placement placement = PlaceByStrategy("alternating", {graph, info, machine, costs, PlacerOptions()});
  const Schedule schedule = Compile(graph, info, request, placement, machine);
  sims::PredictionSettings settings;
  settings.draws = 0;
  const sims::Prediction prediction = sims::Predict(graph, info, schedule, machine, costs, settings);
  RunInfo run_info;
  run_info.emulated = true;
  run_info.strategy = "alternating";
  run_info.graph_name = "random.pbtxt";
  run_info.graph = &graph;
  run_info.machine = &machine;
  run_info.placement = &placement;
  run_info.info = &info;
  traces::TraceWriter writer(path);
  const int run = writer.BeginRun(run_info);
  writer.AddSchedule(run, schedule);
  const auto steps = std::max<int64_t>(1, slices / static_cast<int64_t>(schedule.commands.size()));
  sims::PublishSteps(schedule, prediction.simulation, static_cast<int>(steps), NowNs(), writer.Sink(run));
  writer.EndRun(run, {});
  writer.Close();
}

const std::string& TraceOfTenMillion() {
  static const std::string made = [] {
    const std::string path = (bench::ScratchFolder() / "trace.db").string();
    const auto random = test::MakeRandomGraph(3, 500, 0);
    WriteRun(path, random.graph, test::RequestFor(random.graph, random.fetches, {}), 5, kSlices);
    return path;
  }();
  return made;
}

void Load(benchmark::State& state, const std::string& path) {
  int64_t slices = 0;
  size_t bytes = 0;
  sync();  // the file is new: the system would write it while it is read
  for (auto _ : state) {
    auto runs = LoadTrace(path, nullptr, nullptr);
    state.PauseTiming();
    slices = runs.front()->num_slices;
    bytes = runs.front()->MemoryBytes();
    runs.clear();
    state.ResumeTiming();
  }
  state.counters["slices"] = static_cast<double>(slices);
  state.counters["bytes_per_slice"] = static_cast<double>(bytes) / static_cast<double>(slices);
}
void OpenExportOfTenMillion(benchmark::State& state) { Load(state, ExportOfTenMillion()); }
void OpenTraceOfTenMillion(benchmark::State& state) { Load(state, TraceOfTenMillion()); }
BENCHMARK(OpenExportOfTenMillion)->Unit(benchmark::kMillisecond)->Iterations(3)->UseRealTime();
BENCHMARK(OpenTraceOfTenMillion)->Unit(benchmark::kMillisecond)->Iterations(3)->UseRealTime();

// Edits of a large graph, each from the edit until `number` of the view says it.
void EditsOfTenThousandOps(benchmark::State& state, uint64_t WhatIfView::*number) {
  const fs::path folder = bench::ScratchFolder() / "whatif";
  fs::create_directories(folder);
  const auto random = test::MakeRandomGraph(1, 5000, 0);
  WriteGraph(random.graph, (folder / "random.pbtxt").string());
  fs::remove(folder / "trace.db");
  WriteFile((folder / "random.run.json").string(), "{}");
  CompileRequest request;
  for (const NodeId id : random.graph.node_ids()) request.fetches.push_back({id, -1});
  const std::string path = (folder / "trace.db").string();
  WriteRun(path, random.graph, request, 2, 1);
  Document document;
  document.Open(path);
  const auto wait = [&](auto ready) {
    while (!document.Poll() || !ready()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  };
  wait([&] { return !document.loading(); });
  const RunKey base = document.timeline().runs().front().key;
  document.BeginWhatIf(base);
  wait([&] { return !document.what_if().preparing; });
  if (!document.what_if().problem.empty()) {
    state.SkipWithError(document.what_if().problem.c_str());
    return;
  }
  int edits = 0;
  for (auto _ : state) {
    document.MoveOps(base, {"op" + std::to_string(100 + edits / 2)}, edits % 2 == 0 ? "CPU:0" : "GPU:1");
    ++edits;
    while (document.what_if().*number != document.what_if().edit) {
      document.Poll();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  wait([&] { return !document.what_if().simulating; });
  const ShownRun* result = document.timeline().Find(document.what_if().result);
  state.counters["commands"] = static_cast<double>(result->data->commands.size());
}
// To its step time, and to the new run on the timeline.
void StepTimeOfTenThousandOps(benchmark::State& state) {
  EditsOfTenThousandOps(state, &WhatIfView::timed_edit);
}
void WhatIfOfTenThousandOps(benchmark::State& state) {
  EditsOfTenThousandOps(state, &WhatIfView::simulated_edit);
}
BENCHMARK(StepTimeOfTenThousandOps)->Unit(benchmark::kMillisecond)->Iterations(40)->UseRealTime();
BENCHMARK(WhatIfOfTenThousandOps)->Unit(benchmark::kMillisecond)->Iterations(40)->UseRealTime();

}  // namespace
}  // namespace lanescope::gui
