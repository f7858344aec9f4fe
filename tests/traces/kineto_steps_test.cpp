// SPDX-License-Identifier: Apache-2.0
// Steps of PyTorch's traces: they tile the time.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/runs/run_profile.h"
#include "core/runs/step_path.h"
#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/import/import.h"
#include "traces/read/step_ranges.h"
#include "traces/read/trace_reader.h"
#include "traces/read/trace_view.h"

namespace lanescope::traces {
namespace {

// Two steps of 100 ns of which the host issued the second while the device ran the first, 60 ns each on a
// stream of its own: the windows do not overlap, and what runs beyond its step's window is no idle time of
// the next.
TEST(KinetoStepsTest, StepsTileTheTimeWhenTheHostRunsAhead) {
  const auto event = [](const char* category, const char* name, int ts, int dur, int correlation,
                        int stream) {
    return fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {},
      "args": {{"device": 0, "stream": {}, "correlation": {}}}}})",
                       category, name, std::string(category) == "kernel" ? 0 : 9, 9, ts, dur, stream,
                       correlation);
  };
  const std::string text = "[" + event("user_annotation", "ProfilerStep#1", 0, 20, -1, 0) + "," +
                           event("user_annotation", "ProfilerStep#2", 20, 20, -1, 0) + "," +
                           event("cuda_runtime", "cudaLaunchKernel", 5, 1, 1, 0) + "," +
                           event("cuda_runtime", "cudaLaunchKernel", 10, 1, 2, 0) + "," +
                           event("cuda_runtime", "cudaLaunchKernel", 25, 1, 3, 0) + "," +
                           event("kernel", "a", 100, 60, 1, 7) + "," + event("kernel", "b", 130, 110, 2, 8) +
                           "," + event("kernel", "c", 200, 100, 3, 7) + "]";
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), text);
  ImportTraces({in.path()}, out.path());
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[0].end_ns, run.steps[1].start_ns);
  EXPECT_EQ(run.steps[0].end_ns - run.steps[0].start_ns, 100'000);
  EXPECT_EQ(run.steps[1].end_ns - run.steps[1].start_ns, 100'000);
  const RunView view = ViewOfRun(run);
  const StepPathFinder finder(view);
  EXPECT_EQ(finder.Find(0).totals().waiting_ns, 0);
  EXPECT_EQ(finder.Find(1).totals().waiting_ns, 0);
  const RunProfile profile = ProfileRun(view, -1);
  EXPECT_EQ(profile.step_ns, 100'000);
  for (const OpProfile& op : profile.ops) {
    int64_t seen = 0;
    for (const OpInstance& instance : op.instances) seen += instance.seen;
    EXPECT_EQ(seen, 1) << op.name;  // "b" was launched once, though it runs in both windows
  }
}

// Work of no step between two of them belongs to neither.
TEST(KinetoStepsTest, AStepEndsBeforeWorkOfNoStep) {
  StepWindows windows;
  windows.Add(1, 0, 50);
  windows.Add(-1, 70, 80);
  windows.Add(2, 100, 150);
  windows.Add(3, 160, 170);
  const std::vector<TraceStep> steps = windows.Steps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].end_ns, 50);
  EXPECT_EQ(steps[1].end_ns, 160);
  EXPECT_EQ(steps[2].end_ns, 170);
}

// Two threads whose steps overlap, each with a launch 60 us after its step began: what a thread launches
// belongs to its own step.
TEST(KinetoStepsTest, ThreadsHaveStepsOfTheirOwn) {
  std::string text = "[";
  for (int step = 0; step < 4; ++step) {
    const int start = 50 * step, thread = 10 + step % 2;
    text += fmt::format(R"({}{{"ph": "X", "cat": "user_annotation", "name": "step {}", "pid": 9, "tid": {},
      "ts": {}, "dur": 99}},
      {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": {}, "ts": {}, "dur": 1,
      "args": {{"correlation": {}}}}},
      {{"ph": "X", "cat": "kernel", "name": "k{}", "pid": 0, "tid": 7, "ts": {}, "dur": 10,
      "args": {{"device": 0, "stream": 7, "correlation": {}}}}})",
                        step == 0 ? "" : ",", step, thread, start, thread, start + 60, step + 1, step,
                        start + 70, step + 1);
  }
  ScratchFile in("in.json"), out("out.db");
  WriteFile(in.path(), text + "]");
  ImportTraces({in.path()}, out.path());
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.launches.size(), 4u);
  for (const TraceLaunch& launch : run.launches)
    EXPECT_EQ(run.Text(launch.name), "k" + std::to_string(launch.step));
}

// Published with the traces: 745.2 ms in six steps of 124.2 ms; the other version takes 464.6 ms.
TEST(KinetoStepsTest, TwoVersionsOfOneJob) {
  const std::string test = SharedTrace("kineto", "hta_test.json.gz");
  const std::string control = SharedTrace("kineto", "hta_control.json.gz");
  if (test.empty() || control.empty()) GTEST_SKIP() << "no shared traces here";
  const auto mean_step = [](const std::string& file) {
    ScratchFile out("out.db");
    ImportTraces({file}, out.path());
    const std::vector<TraceStep> steps = TraceReader(out.path()).ReadRun(1).steps;
    EXPECT_EQ(steps.size(), 6u);
    for (size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(steps[i - 1].end_ns, steps[i].start_ns);
    return static_cast<double>(steps.back().end_ns - steps.front().start_ns) / 6e6;
  };
  const double a = mean_step(control), b = mean_step(test);
  EXPECT_NEAR(b, 124.2, 1.0);
  EXPECT_NEAR(a, 464.6 / 6, 1.5);
  EXPECT_NEAR(b / a, 1.6, 0.03);
}

}  // namespace
}  // namespace lanescope::traces
