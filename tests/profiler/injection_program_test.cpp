// SPDX-License-Identifier: Apache-2.0
// Programs without a GPU under the injection library, captured as `lanescope profile` does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "profiler/program_capture.h"
#include "tests/traces/sample_run.h"
#include "traces/read/trace_reader.h"
#include "traces/store/sqlite.h"

namespace lanescope::profiler {
namespace {

class InjectionProgramTest : public testing::Test {
 protected:
  InjectionProgramTest() {
    setenv("LANESCOPE_INJECTION", LANESCOPE_INJECTION_LIBRARY, 1);
    options_.words = {LANESCOPE_NVTX_PROGRAM};
  }
  ~InjectionProgramTest() override { unsetenv("LANESCOPE_INJECTION"); }

  ProgramCaptureResult Run(const std::vector<std::string>& words) {
    ProgramCaptureOptions options = options_;
    options.words.insert(options.words.end(), words.begin(), words.end());
    return CaptureProgram(options, file_.path(), ended_by_);
  }
  std::vector<std::string> Texts(const std::string& sql) {
    traces::Database database(file_.path(), traces::OpenMode::kReadOnly);
    traces::Statement statement(database, sql);
    std::vector<std::string> texts;
    while (statement.Step()) texts.emplace_back(statement.Text(0));
    return texts;
  }
  int64_t Count(const std::string& sql) {
    return traces::Database(file_.path(), traces::OpenMode::kReadOnly).QueryInteger(sql);
  }
  traces::TraceRunInfo Info() { return traces::TraceReader(file_.path()).RunInfoOf(1); }
  // Returns when the trace has this many ranges; false: two minutes were not enough.
  bool WaitForRanges(int64_t count) {
    for (int i = 0; i < 12000; ++i) {
      try {
        if (Count("SELECT COUNT(*) FROM NVTX_EVENTS") >= count) return true;
      } catch (const Error&) {  // the trace is being made
      }
      usleep(10000);
    }
    return false;
  }

  traces::ScratchFile file_;
  ProgramCaptureOptions options_;
  std::atomic<int> ended_by_{0};
};

TEST_F(InjectionProgramTest, AProgramWithoutCudaRunsUnharmedAndTheReasonIsSaid) {
  options_.words = {"/bin/true"};
  const ProgramCaptureResult result = Run({});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.rows, 0);
  EXPECT_NE(result.nothing, "");
  EXPECT_TRUE(Info().complete);
  EXPECT_EQ(Info().graph, "true");
  EXPECT_EQ(Count("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 0);
  EXPECT_THAT(Texts("SELECT value FROM META_DATA_CAPTURE WHERE name = 'LANESCOPE_RUN_1_NOTE'"),
              testing::Contains(testing::HasSubstr(result.nothing)));
}

TEST_F(InjectionProgramTest, ExitStatusAndSignalsArePassedOn) {
  EXPECT_EQ(Run({"exit7"}).status, 7);
  EXPECT_EQ(Run({"abort"}).status, 128 + SIGABRT);
  EXPECT_TRUE(Info().complete);
  const traces::TraceRunInfo aborted = traces::TraceReader(file_.path()).RunInfoOf(2);
  EXPECT_FALSE(aborted.complete);
  EXPECT_THAT(aborted.error, testing::HasSubstr("signal 6"));
}

TEST_F(InjectionProgramTest, AProgramThatIsNotThereIsAnError) {
  options_.words = {"/nonexistent/program"};
  try {
    Run({});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
  }
}

// Input: no folder for the socket. Law: the run is there, and says why nothing came of it and what helps.
TEST_F(InjectionProgramTest, ACaptureThatCannotBeginKeepsItsReason) {
  const char* const before = getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/proc", 1);
  EXPECT_THROW(Run({"/bin/true"}), Error);
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_THAT(Info().error, testing::EndsWith("set TMPDIR to a folder that can be written"));
}

TEST_F(InjectionProgramTest, RangesOfAllKindsAreRecorded) {
  const ProgramCaptureResult result = Run({"ranges", "domains"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.processes, 1);
  EXPECT_TRUE(Info().complete);
  EXPECT_THAT(
      Texts("SELECT text FROM NVTX_EVENTS ORDER BY text"),
      testing::ElementsAre("inner", "library", "mark", "outer", "registered", "started", "wide \u00e9"));
  EXPECT_EQ(
      Count("SELECT COUNT(*) FROM NVTX_EVENTS i JOIN NVTX_EVENTS o ON i.text = 'inner' AND o.text = 'outer' "
            "WHERE o.start <= i.start AND i.\"end\" <= o.\"end\" AND i.globalTid = o.globalTid"),
      1);
  EXPECT_EQ(Count("SELECT domainId FROM NVTX_EVENTS WHERE text = 'registered'"), 1);
  EXPECT_EQ(Count("SELECT color FROM NVTX_EVENTS WHERE text = 'registered'"), 0xff00ff00);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS WHERE text = 'started' AND endGlobalTid <> globalTid"),
            1);
  // Inside the run: after its start and before its end.
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS WHERE start < 0"), 0);
  EXPECT_THAT(Texts("SELECT name FROM PROCESSES"),
              testing::Contains(testing::HasSubstr("nvtx_program ranges")));
}

TEST_F(InjectionProgramTest, ForkedChildrenAreCapturedAsProcessesOfTheirOwn) {
  const ProgramCaptureResult result = Run({"fork"});
  EXPECT_EQ(result.processes, 2);
  EXPECT_TRUE(Info().complete);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS WHERE text IN ('parent', 'child', 'inner')"), 3);
  EXPECT_EQ(Count("SELECT COUNT(DISTINCT globalTid >> 24) FROM NVTX_EVENTS"), 2);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM LANESCOPE_PROCESS WHERE runId = 1"), 3);  // and the capturing one
}

TEST_F(InjectionProgramTest, ChildrenThatRunAnotherProgramAreCaptured) {
  options_.words = {"/bin/sh", "-c",
                    std::string(LANESCOPE_NVTX_PROGRAM) + " ranges; " + LANESCOPE_NVTX_PROGRAM + " ranges"};
  const ProgramCaptureResult result = Run({});
  EXPECT_EQ(result.processes, 2);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 4);
}

// The library loads and starts as in cuInit; without a driver it says why it records nothing, and goes on.
TEST_F(InjectionProgramTest, WithoutADriverTheLibraryStaysOutOfTheWay) {
  const ProgramCaptureResult result = Run({"cuda", "ranges", "print"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.processes, 1);
  EXPECT_NE(result.nothing, "");
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 2);
  EXPECT_TRUE(Info().complete);
}

// Law: a program that nothing can be loaded into runs to its end, and one line says why it is not captured.
TEST_F(InjectionProgramTest, AStaticallyLinkedProgramRunsUnharmedAndTheReasonIsSaid) {
  options_.words = {LANESCOPE_STATIC_NVTX_PROGRAM};
  if (options_.words[0].empty()) GTEST_SKIP() << "the system has no static libraries";
  const ProgramCaptureResult result = Run({"ranges", "domains", "cuda", "fork", "exit7"});
  EXPECT_EQ(result.status, 7);
  EXPECT_EQ(result.processes, 0);
  EXPECT_EQ(result.nothing, "'" + options_.words[0] +
                                "' is linked statically, so that no capture can be loaded into it; link it "
                                "dynamically");
  EXPECT_TRUE(Info().complete);
}

TEST_F(InjectionProgramTest, ProgramsBesideAStaticallyLinkedOneAreCaptured) {
  const std::string program = LANESCOPE_STATIC_NVTX_PROGRAM;
  if (program.empty()) GTEST_SKIP() << "the system has no static libraries";
  options_.words = {"/bin/sh", "-c",
                    program + " ranges && " + LANESCOPE_NVTX_PROGRAM + " ranges && " + program + " ranges"};
  const ProgramCaptureResult result = Run({});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.processes, 1);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 2);
}

TEST_F(InjectionProgramTest, AKilledProgramLeavesWhatItHandedOver) {
  const std::string sign = (file_.folder() / "handed_over").string();
  std::thread wait([&] {
    EXPECT_TRUE(WaitForRanges(2));
    std::ofstream(sign) << "go on";
  });
  const ProgramCaptureResult result = Run({"ranges", "await=" + sign, "kill"});
  wait.join();
  EXPECT_EQ(result.status, 128 + SIGKILL);
  EXPECT_FALSE(Info().complete);
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 2);
  EXPECT_EQ(Count("SELECT \"count\" FROM LANESCOPE_DROPPED WHERE what LIKE 'processes that ended%'"), 1);
  EXPECT_EQ(traces::TraceReader(file_.path()).ReadRun(1).dropped, 1);
}

TEST_F(InjectionProgramTest, AProgramThatLeavesWithoutGoodbyeIsCounted) {
  const ProgramCaptureResult result = Run({"ranges", "_exit"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(Info().complete);  // nothing of a device was lost
  EXPECT_EQ(Count("SELECT \"count\" FROM LANESCOPE_DROPPED WHERE what LIKE 'processes that ended%'"), 1);
}

TEST_F(InjectionProgramTest, AProgramThatClosesAllDescriptorsIsUnharmed) {
  EXPECT_EQ(Run({"ranges", "close", "ranges", "flush"}).status, 0);
}

TEST_F(InjectionProgramTest, OnlyTheNamedRangeIsRecorded) {
  options_.nvtx_range = "window";
  Run({"ranges", "window", "ranges"});
  EXPECT_THAT(Texts("SELECT text FROM NVTX_EVENTS ORDER BY text"), testing::ElementsAre("inner", "window"));
}

TEST_F(InjectionProgramTest, NothingIsRecordedBeforeTheDelayOrAfterTheDuration) {
  options_.delay_s = 1000;
  Run({"ranges"});
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 0);
  options_.delay_s = 0;
  options_.duration_s = 1e-6;
  Run({"ranges"});
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 0);
  options_.duration_s = 1000;
  Run({"ranges"});
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 2);
}

TEST_F(InjectionProgramTest, InterruptedProgramsAreEndedAndKept) {
  std::thread interrupt([&] {
    EXPECT_TRUE(WaitForRanges(2));
    ended_by_ = SIGINT;
  });
  const ProgramCaptureResult result = Run({"ranges", "wait"});
  interrupt.join();
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.status, 128 + SIGINT);
  EXPECT_EQ(Info().error, "Cancelled: interrupted");
  EXPECT_EQ(Count("SELECT COUNT(*) FROM NVTX_EVENTS"), 2);
}

}  // namespace
}  // namespace lanescope::profiler
