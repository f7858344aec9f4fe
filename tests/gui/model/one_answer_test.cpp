// SPDX-License-Identifier: Apache-2.0
// One run, one answer: what `diff` and `explain` read from a trace, what the timeline loads from it, and what
// the events of its schedule tell have the same steps, the same paths and the same figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "core/runs/event_view.h"
#include "core/runs/run_diff.h"
#include "core/runs/run_profile.h"
#include "gui/document/document_whatif.h"
#include "gui/model/run_analysis.h"
#include "gui/model/run_builder.h"
#include "gui/model/trace_loader.h"
#include "sims/predict/predict.h"
#include "tests/gui/model/sample_trace.h"
#include "tests/sims/effects_of.h"
#include "tests/support/paths.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/import/import.h"
#include "traces/read/recorded_schedule.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"
#include "traces/record/trace_writer.h"
#include "traces/report/statistics.h"
#include "traces/report/summary.h"
#include "traces/store/sqlite.h"

namespace lanescope::gui {
namespace {

// Steps beyond these are alike.
constexpr size_t kPathsCompared = 12;

using Piece = std::tuple<int64_t, int64_t, bool, int64_t, int64_t>;  // from, to, waiting, item from, item to

std::vector<Piece> PiecesOf(const StepPath& path) {
  std::vector<Piece> pieces;
  for (const PathSegment& segment : path.segments) {
    const bool at_end = segment.item < 0;
    const WorkItem item = at_end ? WorkItem() : path.items[static_cast<size_t>(segment.item)];
    pieces.emplace_back(segment.start_ns, segment.end_ns, segment.waiting, item.start_ns, item.end_ns);
  }
  return pieces;
}

void ExpectSameSteps(const RunView& a, const RunView& b) {
  ASSERT_EQ(a.whole, b.whole);
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t s = 0; s < a.steps.size(); ++s) {
    EXPECT_EQ(a.steps[s].number, b.steps[s].number);
    EXPECT_EQ(a.steps[s].start_ns, b.steps[s].start_ns) << a.steps[s].number;
    EXPECT_EQ(a.steps[s].end_ns, b.steps[s].end_ns) << a.steps[s].number;
    EXPECT_EQ(a.steps[s].counts, b.steps[s].counts) << a.steps[s].number;
  }
}

void ExpectSamePaths(const RunView& a, const RunView& b) {
  const StepPathFinder in_a(a), in_b(b);
  for (size_t s = 0; s < std::min(a.steps.size(), kPathsCompared); ++s) {
    const StepPath path_a = in_a.Find(s), path_b = in_b.Find(s);
    ASSERT_EQ(PiecesOf(path_a), PiecesOf(path_b)) << "step " << a.steps[s].number;
    EXPECT_EQ(in_a.SlackOf(path_a), in_b.SlackOf(path_b)) << "step " << a.steps[s].number;
  }
}

void ExpectSameProfile(const RunProfile& a, const RunProfile& b) {
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.step_ns, b.step_ns);
  EXPECT_EQ(a.end_wait_ns, b.end_wait_ns);
  const RunDiff diff = DiffRuns(a, b);
  EXPECT_EQ(DiffVerdict(diff), "A and B take equally long.");
  const auto parts_of = [](const StepParts& parts) {
    return std::tuple(parts.compute_ns, parts.transfer_ns, parts.waiting_ns, parts.contention_ns);
  };
  EXPECT_EQ(parts_of(diff.parts_a), parts_of(diff.parts_b));
  for (const OpDiff& op : diff.ops) {
    const auto side_of = [](const OpDiff::Side& side) {
      return std::tuple(side.count, side.ns, side.path_ns, side.wait_ns, side.devices);
    };
    EXPECT_EQ(op.change, OpDiff::Change::kSame) << op.name;
    EXPECT_EQ(side_of(op.a), side_of(op.b)) << op.name;
  }
}

// Events of the run's schedule tell the same.
void ExpectEventsAgree(const traces::TraceRun& run, const RunView& read) {
  if (run.commands.empty() || traces::NumSchedules(run) != 1) return;
  // Steps that do not count have no events.
  if (!std::all_of(run.steps.begin(), run.steps.end(),
                   [](const traces::TraceStep& step) { return step.counts; }))
    return;
  const Machine machine = ParseMachine(run.info.machine_json);
  const traces::RecordedSchedule recorded = ReadSchedule(run, 0, machine);
  const RunView events = ViewOfEvents(nullptr, machine, recorded.schedule, recorded.events);
  ExpectSameSteps(read, events);
  ExpectSamePaths(read, events);
  const PathSums a = PathSumsOf(ProfileRun(read)), b = PathSumsOf(ProfileRun(events));
  EXPECT_EQ(std::tuple(a.launch_ns, a.transfer_ns, a.waiting_ns),
            std::tuple(b.launch_ns, b.transfer_ns, b.waiting_ns));
}

void ExpectOneAnswer(const std::string& path) {
  SCOPED_TRACE(path);
  const auto shown = LoadTrace(path, nullptr, nullptr);
  traces::TraceReader reader(path);
  const auto infos = reader.Runs();
  ASSERT_EQ(shown.size(), infos.size());
  for (size_t r = 0; r < infos.size(); ++r) {
    SCOPED_TRACE(infos[r].id);
    const traces::TraceRun run = reader.ReadRun(infos[r].id);
    const RunView read = traces::ViewOfRun(run), loaded = ViewOf(*shown[r]);
    ExpectSameSteps(read, loaded);
    if (testing::Test::HasFatalFailure() || read.steps.empty()) continue;
    ExpectSamePaths(read, loaded);
    ExpectSameProfile(ProfileRun(read), ProfileRun(loaded));
    // The list of runs has the median of graphs, whose steps repeat.
    if (run.commands.empty() && !read.whole) {
      EXPECT_EQ(shown[r]->step_ns, std::llround(ProfileRun(read).step_ns));
    }
    ExpectEventsAgree(run, read);
    // The tab shows the path of a step that `explain --step` names.
    const ShownPath tab = FindShownPath(*shown[r]);
    ASSERT_EQ(tab.problem, "");
    const PathSums explained = PathSumsOf(ProfileRun(read, read.whole ? -1 : tab.step));
    const StepPath::Totals totals = tab.path.totals();
    EXPECT_EQ(static_cast<double>(totals.launch_ns), explained.launch_ns);
    EXPECT_EQ(static_cast<double>(totals.transfer_ns), explained.transfer_ns);
    EXPECT_EQ(static_cast<double>(totals.waiting_ns), explained.waiting_ns);
  }
}

TEST(OneAnswerTest, TracesOfTheRepository) {
  int found = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(lanescope::test::SourceDir() + "/samples/traces")) {
    if (entry.path().extension() != ".db") continue;
    ++found;
    ExpectOneAnswer(entry.path().string());
  }
  EXPECT_GT(found, 0);
}

// A run of eight steps of 1000 ns, of which 1, 4 and 6 begin 2000 ns late; `disturbed` says which are marked.
int WriteDisturbed(const std::string& path, const std::vector<int>& disturbed) {
  const traces::SampleRun sample(false);
  traces::TraceWriter writer(path);
  const int run = writer.BeginRun(sample.info());
  writer.AddSchedule(run, sample.schedule());
  traces::RunOutcome outcome;
  for (int step = 0; step < 8; ++step) {
    const bool late = step == 1 || step == 4 || step == 6;
    const int64_t at = NowNs() + 10'000 * step;
    std::vector<Event> events = traces::SampleRun::StepEvents(step, at);
    for (Event& event : events) {
      if (late && event.kind == EventKind::kCommand) event.start_ns += 2000;
      if (late) event.end_ns += 2000;
    }
    writer.Sink(run)->Consume(events);
    StepDisturbance watched{.step = step, .round = step / 4, .taken = {}, .disturbed = false};
    watched.disturbed = std::find(disturbed.begin(), disturbed.end(), step) != disturbed.end();
    watched.taken.waited_ns = watched.disturbed ? 2000 : 0;
    outcome.disturbances.push_back(watched);
  }
  writer.EndRun(run, outcome);
  writer.Close();
  return run;
}

// Every reader says the same of the file's only run.
void ExpectSteps(const std::string& path, int64_t counted, double median_ns) {
  ExpectOneAnswer(path);
  traces::TraceReader reader(path);
  const traces::TraceRun run = reader.ReadRun(1);
  const traces::RunStatistics statistics = traces::ComputeStatistics(run);
  EXPECT_EQ(statistics.steps, counted);
  EXPECT_EQ(statistics.step_ns->median, median_ns);
  EXPECT_EQ(statistics.Copies(CopyClass::kDeviceToDevice).count, counted);
  const traces::RecordedSchedule calibrated = ReadSchedule(run, 0, ParseMachine(run.info.machine_json));
  EXPECT_EQ(std::count_if(calibrated.events.begin(), calibrated.events.end(),
                          [](const Event& event) { return event.kind == EventKind::kStep; }),
            counted);
  EXPECT_EQ(calibrated.events.size(), static_cast<size_t>(7 * counted));
  const RunProfile profile = ProfileRun(traces::ViewOfRun(run));
  EXPECT_EQ(profile.steps, counted - counted / 4 * 2);
  const auto shown = LoadTrace(path, nullptr, nullptr);
  EXPECT_EQ(static_cast<double>(shown[0]->step_ns), median_ns);
  const RunView::Step& median = shown[0]->steps[static_cast<size_t>(shown[0]->MedianStep())];
  EXPECT_EQ(static_cast<double>(median.end_ns - median.start_ns), median_ns);
  const traces::Summary summary = traces::Summarize(path, 1);
  EXPECT_EQ(std::count_if(summary.steps.begin(), summary.steps.end(),
                          [](const traces::StepUsage& step) { return step.counts; }),
            counted);
  EXPECT_EQ(traces::Database(path, traces::OpenMode::kReadOnly)
                .QueryInteger("SELECT CAST(stepMedianNs AS INTEGER) FROM LANESCOPE_RUN"),
            static_cast<int64_t>(median_ns));
}

// Law: statistics, calibration, profiles (of diff, explain and compare), summary and timeline leave out the
// same steps.
TEST(OneAnswerTest, StepsThatOthersDisturbedCountForNobody) {
  const traces::ScratchFile file;
  WriteDisturbed(file.path(), {1, 4, 6});
  ExpectSteps(file.path(), 5, 1000);
  EXPECT_EQ(ProfileRun(traces::ViewOfRun(traces::TraceReader(file.path()).ReadRun(1))).step_ns, 1000);
  EXPECT_NE(traces::SummaryText(traces::Summarize(file.path(), 1)).find("others disturbed 3 more"),
            std::string::npos);
}

TEST(OneAnswerTest, WhereAllStepsAreDisturbedAllCount) {
  const traces::ScratchFile file;
  WriteDisturbed(file.path(), {0, 1, 2, 3, 4, 5, 6, 7});
  ExpectSteps(file.path(), 8, 1000);
}

// A file of version 3 opens, its steps count, and runs that are appended are of today's version.
TEST(OneAnswerTest, StepsOfEarlierFilesCount) {
  const traces::ScratchFile file;
  WriteDisturbed(file.path(), {0, 2, 3});
  ExpectSteps(file.path(), 5, 3000);
  traces::Database(file.path(), traces::OpenMode::kReadWrite)
      .Execute(
          "DROP TABLE LANESCOPE_DISTURBANCE; UPDATE LANESCOPE_SCHEMA SET version = 3; "
          "PRAGMA user_version=3; UPDATE LANESCOPE_RUN SET stepMedianNs = 1000");
  ExpectSteps(file.path(), 8, 1000);
  WriteDisturbed(file.path(), {1, 4, 6});
  const std::vector<traces::TraceStep> steps = traces::TraceReader(file.path()).Steps(2);
  ASSERT_EQ(steps.size(), 8u);
  EXPECT_FALSE(steps[4].counts);
  EXPECT_TRUE(steps[5].counts);
  EXPECT_EQ(steps[5].round, 1);
}

TEST(OneAnswerTest, RunsOfToday) {
  const test::SampleTrace sample(40, {"single", "alternating"}, 5);
  ExpectOneAnswer(sample.file.path());
}

// In-order queues with Record and Wait, gaps and hand-offs: the prediction itself, the what-if run made of it
// and the trace that holds it.
TEST(OneAnswerTest, PredictionsOnInOrderQueues) {
  const test::SampleTrace sample(60, {}, 0);
  Machine machine = sample.machine;
  for (const DeviceId gpu : machine.Gpus()) machine.devices[gpu].in_order = true;
  const Placement placement = sample.PlaceBy("alternating");
  const Schedule schedule = Compile(sample.graph, sample.info, sample.request, placement, machine);
  ASSERT_TRUE(std::any_of(schedule.commands.begin(), schedule.commands.end(),
                          [](const Command& command) { return command.kind == CommandKind::kWait; }));
  sims::PredictionSettings settings;
  settings.draws = 0;
  sims::Delays delays;
  for (auto& row : delays.gap_ns) row.fill(300);
  for (auto& row : delays.handoff_ns) row.fill(700);
  settings.effects = sims::EffectsOf(delays);
  const sims::Prediction prediction =
      Predict(sample.graph, sample.info, schedule, machine, RooflineCost(), settings);
  const auto path_of = [](const RunView& view) {
    const StepPath path = StepPathFinder(view).Find(0);
    std::vector<CommandId> commands;
    for (const int item : path.OnPath()) {
      const WorkItem& work = path.items[static_cast<size_t>(item)];
      commands.emplace_back(view.lanes[static_cast<size_t>(work.lane)].slices->command[work.slice]);
    }
    return commands;
  };
  std::vector<std::pair<int, int>> edges;
  const std::vector<std::string> signatures(sample.graph.num_nodes());
  RunData what_if =
      RunOfSimulation(RunOfGraph(sample.graph, signatures), machine, schedule, prediction, &edges);
  const auto shown = FinishRun(std::move(what_if), edges);
  EXPECT_EQ(path_of(ViewOf(*shown)), prediction.critical_path.commands);

  const traces::ScratchFile file;
  traces::TraceWriter writer(file.path());
  RunInfo info;
  info.simulated = info.emulated = true;
  info.graph = &sample.graph;
  info.machine = &machine;
  info.placement = &placement;
  info.info = &sample.info;
  const int run = writer.BeginRun(info);
  writer.AddSchedule(run, schedule);
  sims::PublishSteps(schedule, prediction.simulation, 2, 0, writer.Sink(run));
  writer.EndRun(run, {});
  writer.Close();
  const traces::TraceRun read = traces::TraceReader(file.path()).ReadRun(run);
  EXPECT_EQ(path_of(traces::ViewOfRun(read)), prediction.critical_path.commands);
  ExpectOneAnswer(file.path());
}

TEST(OneAnswerTest, ExportsOfEveryVersion) {
  for (const traces::ExportVersion& version : traces::ExportVersions()) {
    const traces::ScratchFile file;
    traces::WriteTwoProcesses(file.path(), version);
    ExpectOneAnswer(file.path());
  }
}

// Calls at 10 and 110, in the ranges "step 0" 0-100 and "step 1" 100-200, launch kernels 50-300 and 300-350,
// and a copy 320-400. A step goes from the first to the last activity that was launched in it, wherever its
// range lies.
TEST(OneAnswerTest, StepsOfRangesGoFromTheFirstToTheLastActivity) {
  const traces::ScratchFile file;
  traces::Database(file.path(), traces::OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid "
          "INTEGER);"
          "INSERT INTO NVTX_EVENTS VALUES (0, 100, 59, 'step 0', 1 << 24), (100, 200, 59, 'step 1', 1 << 24);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
          "correlationId INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, (1 << 24) + 1, 1), (110, 120, (1 << 24) + "
          "1, 2), (130, 140, (1 << 24) + 1, 3);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
          "INTEGER, correlationId INTEGER, globalPid INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (50, 300, 0, 7, 1, 1 << 24), (300, 350, 0, 7, 2, 1 "
          "<< 24);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
          "INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);"
          "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (320, 400, 0, 8, 3, 1 << 24, 64, 2)");
  const auto shown = LoadTrace(file.path(), nullptr, nullptr);
  ASSERT_EQ(shown.size(), 1u);
  std::vector<std::tuple<int, int64_t, int64_t>> steps;
  for (const RunView::Step& step : shown[0]->steps)
    steps.emplace_back(step.number, step.start_ns, step.end_ns);
  EXPECT_EQ(steps, (std::vector<std::tuple<int, int64_t, int64_t>>{{0, 50, 300}, {1, 300, 400}}));
  ExpectOneAnswer(file.path());
}

TEST(OneAnswerTest, ExportsOfNsightSystems) {
  int found = 0;
  for (const char* name :
       {"h100_2gpu_1s.sqlite", "rtx3080_small.sqlite", "t4_unified_memory_schema_3.17.sqlite"}) {
    const std::string path = traces::SharedNsysTrace(name);
    if (path.empty()) continue;
    ++found;
    ExpectOneAnswer(path);
  }
  if (found == 0) GTEST_SKIP() << "no shared traces here";
}

TEST(OneAnswerTest, TracesOfPyTorch) {
  int found = 0;
  for (const char* name :
       {"hta_control.json.gz", "hta_test.json.gz", "hta_event_sync_trace.json.gz",
        "hta_benchmark_result_2869224_1695835535_trace.json.gz",
        "worker0_step_12.1694128201545.pt.trace.json", "worker1_step_12.1694128201556.pt.trace.json"}) {
    const std::string path = traces::SharedTrace("kineto", name);
    if (path.empty()) continue;
    ++found;
    const traces::ScratchFile file;
    const std::string plain = (file.folder() / "trace.json").string();
    const std::string unpack = path.ends_with(".gz") ? "gzip -dc" : "cat";
    ASSERT_EQ(std::system((unpack + " '" + path + "' > '" + plain + "'").c_str()), 0);
    traces::ImportTraces({plain}, file.path());
    ExpectOneAnswer(file.path());
  }
  if (found == 0) GTEST_SKIP() << "no shared traces here";
}

}  // namespace
}  // namespace lanescope::gui
