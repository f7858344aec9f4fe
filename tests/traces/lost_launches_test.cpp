// SPDX-License-Identifier: Apache-2.0
// Gaps of a trace, and that it says so: kernels of launches, work of steps, everything of a GPU.
#include "traces/report/lost_launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "tests/traces/nsys_export.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string Quoted(const std::string& category, const std::string& name, int tid, int start, int length,
                   int correlation) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": )" +
         std::to_string(tid < 10 ? 0 : 99) + R"(, "tid": )" + std::to_string(tid) + R"(, "ts": )" +
         std::to_string(start) + R"(, "dur": )" + std::to_string(length) + R"(, "args": {"correlation": )" +
         std::to_string(correlation) + "}}";
}

// Four steps of two launches each; kernels of the first `lost` are missing.
std::string Steps(int lost) {
  std::string text = "[";
  for (int step = 0; step < 4; ++step) {
    text += Quoted("user_annotation", "ProfilerStep#" + std::to_string(step), 99, 1000 * step, 900, 0) + ",";
    for (int i = 0; i < 2; ++i) {
      const int correlation = 2 * step + i + 1, at = 1000 * step + 100 * i + 10;
      text += Quoted("cuda_runtime", "cudaLaunchKernel", 99, at, 5, correlation) + ",";
      if (step >= lost) text += Quoted("kernel", "gemm", 7, at + 20, 50, correlation) + ",";
    }
  }
  text.back() = ']';
  return text;
}

TEST(LostLaunchesTest, LaunchesWithoutKernelsAndStepsWithoutWorkAreTold) {
  ScratchFile in("lost.json");
  WriteFile(in.path(), Steps(2));
  const Summary summary = ImportOf(in.path()).summary;
  EXPECT_THAT(summary.notes, Contains(HasSubstr("4 of 8 launches have no kernel in the trace")));
  EXPECT_THAT(summary.notes, Contains("steps 0 to 1 have no work on a device"));
  EXPECT_EQ(summary.steps.size(), 2u);
  WriteFile(in.path(), Steps(0));
  EXPECT_THAT(ImportOf(in.path()).summary.notes, testing::IsEmpty());
  WriteFile(in.path(), Steps(4));
  const Summary none = ImportOf(in.path()).summary;
  EXPECT_THAT(none.notes, Contains(HasSubstr("all of 8 launches have no kernel")));
  EXPECT_THAT(none.verdict, testing::StartsWith("What the host launched is not in the trace"));
}

// One of three launches is recorded into a graph, by another thread of the process, and one is lost.
TEST(LostLaunchesTest, LaunchesIntoAGraphAreItsNodes) {
  ScratchFile in("graph.json"), out("out.db");
  WriteFile(in.path(), "[" + Quoted("cuda_runtime", "cudaStreamBeginCapture", 99, 0, 5, 1) + "," +
                           Quoted("cuda_runtime", "cudaLaunchKernel", 98, 10, 5, 2) + "," +
                           Quoted("cuda_runtime", "cudaStreamEndCapture", 99, 20, 5, 3) + "," +
                           Quoted("cuda_runtime", "cudaLaunchKernel", 99, 30, 5, 4) + "," +
                           Quoted("cuda_runtime", "cudaGraphLaunch", 99, 40, 5, 5) + "," +
                           Quoted("kernel", "node", 7, 50, 5, 5) + "]");
  ImportTraces({in.path()}, out.path());
  TraceReader reader(out.path());
  const LostLaunches found = FindLostLaunches(reader, 1);
  EXPECT_EQ(found.launches, 2);
  EXPECT_EQ(found.lost, 1);
}

// PyTorch on CPUs: steps are the ranges, and the profiler's own span is no work.
TEST(LostLaunchesTest, StepsOfAHostAloneAreItsRanges) {
  ScratchFile in("cpu.json"), out("out.db");
  WriteFile(in.path(), "[" + Quoted("user_annotation", "ProfilerStep#1", 99, 1000, 500, 0) + "," +
                           Quoted("cpu_op", "aten::mm", 99, 1100, 300, 0) + "," +
                           Quoted("user_annotation", "ProfilerStep#2", 99, 1500, 400, 0) + "," +
                           Quoted("cpu_op", "aten::mm", 99, 1550, 250, 0) +
                           R"json(,{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
                               "tid": "PyTorch Profiler", "ts": 900, "dur": 1100}])json");
  ImportTraces({in.path()}, out.path());
  const TraceRun run = TraceReader(out.path()).ReadRun(1);
  ASSERT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[1].step, 2);
  EXPECT_EQ(run.steps[1].end_ns - run.steps[1].start_ns, 400'000);
  EXPECT_THAT(Summarize(out.path(), 1).verdict,
              HasSubstr("aten::mm takes the most time (550 us in 2 calls)"));
  SummaryOptions of_step;
  of_step.step = 2;
  EXPECT_THAT(Summarize(out.path(), 1, of_step).verdict, HasSubstr("aten::mm takes the most time (250 us"));
}

// An export of a process that the GPU's work was not in.
TEST(LostLaunchesTest, AnExportWithoutKernelsSaysWhatThereIsAndWhatToDo) {
  ScratchFile in("report.sqlite");
  Database(in.path(), OpenMode::kCreate)
      .Execute(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
          "CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL);"
          "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL);"
          "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT "
          "NOT "
          "NULL);"
          "INSERT INTO OSRT_API VALUES (1, 2), (3, 4);"
          "INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 'started'), (5, 2, 'No CUDA events collected.')");
  const Summary summary = Summarize(in.path(), 1);
  EXPECT_THAT(summary.notes, testing::ElementsAre("No CUDA events collected."));
  EXPECT_THAT(summary.verdict, HasSubstr("2 OS runtime calls"));
  EXPECT_THAT(summary.verdict, HasSubstr("-t cuda"));
}

// Equal texts of two libraries are two ranges, and their steps are none of the program's.
TEST(LostLaunchesTest, RangesOfLibrariesBeginWithTheirDomain) {
  ScratchFile file("domains.sqlite");
  {
    const std::vector<ExportVersion> versions = ExportVersions();
    const auto version = std::ranges::find_if(versions, [](const ExportVersion& each) {
      return std::ranges::find(each.nvtx, "domainId") != each.nvtx.end();
    });
    NsysExport trace(file.path(), *version);
    const std::string pid = std::to_string(kPid1), thread = std::to_string(kPid1 | 101);
    const auto domain = [&](int number, const std::string& name) {
      trace.Range({{"start", "0"},
                   {"eventType", "75"},
                   {"domainId", std::to_string(number)},
                   {"globalTid", thread},
                   {"textId", trace.Text(name)},
                   {"end", "NULL"},
                   {"text", "NULL"}});
    };
    domain(1, "libA");
    domain(2, "libB");
    const auto range = [&](int number, const std::string& text, int start, int end) {
      trace.Range({{"start", std::to_string(start)},
                   {"end", std::to_string(end)},
                   {"eventType", "59"},
                   {"domainId", std::to_string(number)},
                   {"globalTid", thread},
                   {"textId", trace.Text(text)},
                   {"text", "NULL"}});
    };
    range(0, "step 7", 0, 100);
    range(1, "read", 10, 20);
    range(2, "read", 30, 40);
    range(2, "step 1", 50, 60);
    range(3, "read", 70, 80);
    trace.Kernel({{"start", "15"}, {"end", "90"}, {"globalPid", pid}});
  }
  const TraceRun run = TraceReader(file.path()).ReadRun(1);
  std::vector<std::string> texts;
  for (const TraceRange& each : run.ranges) texts.push_back(run.Text(each.text));
  EXPECT_THAT(texts,
              testing::ElementsAre("step 7", "libA:read", "libB:read", "libB:step 1", "domain 3:read"));
  ASSERT_EQ(run.steps.size(), 1u);
  EXPECT_EQ(run.steps[0].step, 7);
}

}  // namespace
}  // namespace lanescope::traces
