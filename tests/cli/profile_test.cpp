// SPDX-License-Identifier: Apache-2.0
// lanescope profile, with programs that every machine has. What is captured where there is a GPU is not
// tested here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cli/program.h"

namespace lanescope::cli {
namespace {

using testing::HasSubstr;

TEST(ProfileTest, AProgramRunsAndLeavesATrace) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const Outcome outcome = Lanescope({"profile", "-o", trace, "--", "/bin/echo", "hello", "-o", "world"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "hello -o world\n");
  EXPECT_THAT(outcome.errors, HasSubstr("no GPU activity was captured: "));
  const auto rows =
      LanescopeJson({"query", trace, "SELECT graph, kind, complete FROM LANESCOPE_RUN", "--json"})["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][0], "echo");
  EXPECT_EQ(rows[0][1], "measured");
  EXPECT_EQ(rows[0][2], 1);
  EXPECT_EQ(Lanescope({"summary", trace}).status, 0);
}

TEST(ProfileTest, TheExitStatusIsTheProgramsOwn) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  EXPECT_EQ(Lanescope({"profile", "-o", trace, "--", "/bin/true"}).status, 0);
  EXPECT_EQ(Lanescope({"profile", "-o", trace, "--", "/bin/sh", "-c", "exit 42"}).status, 42);
  EXPECT_EQ(Lanescope({"profile", "-o", trace, "--", "/bin/sh", "-c", "kill -TERM $$"}).status,
            128 + SIGTERM);
  const auto rows =
      LanescopeJson({"query", trace, "SELECT complete FROM LANESCOPE_RUN ORDER BY runId", "--json"})["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1][0], 1);
  EXPECT_EQ(rows[2][0], 0);
}

TEST(ProfileTest, TheProgramReadsStandardInput) {
  const Folder folder;
  const Outcome outcome =
      Lanescope({"profile", "-o", folder.File("t.db"), "--", "/bin/cat"}, "what is typed\n");
  EXPECT_EQ(outcome.output, "what is typed\n");
}

// The trace is kept, and the program does not outlive the capture.
TEST(ProfileTest, CtrlCEndsTheProgramAndKeepsTheTrace) {
  const Folder folder;
  const std::string trace = folder.File("t.db"), sign = folder.File("sign");
  Process process(
      {"profile", "-o", trace, "--", "/bin/sh", "-c", "echo started > " + sign + "; exec sleep 60"});
  ASSERT_TRUE(process.WaitForFile(sign, 1));
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait().status, 130);
  const auto rows = LanescopeJson({"query", trace, "SELECT error FROM LANESCOPE_RUN", "--json"})["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][0], "Cancelled: interrupted");
}

TEST(ProfileTest, WrongUsage) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  ExpectError(Lanescope({"profile", "-o", trace}), 2, "InvalidArgument", "program");
  ExpectError(Lanescope({"profile", "-o", trace, "--capture-range", "step", "--", "/bin/true"}), 1,
              "InvalidArgument", "nvtx:NAME");
  ExpectError(Lanescope({"profile", "-o", trace, "--", "/nonexistent/program"}), 1, "NotFound",
              "/nonexistent/program");
  ExpectError(
      Lanescope({"profile", "-o", folder.Write("notes.txt", std::string(5000, 'x')), "--", "/bin/true"}), 1,
      "FailedPrecondition", "notes.txt");
}

TEST(ProfileTest, RunsOfVirtualDevicesTakeEveryProfile) {
  const Folder folder;
  for (const char* profile : {"off", "kernels", "full"}) {
    const std::string trace = folder.File(std::string(profile) + ".db");
    const auto report = LanescopeJson(
        {"run", Sample("polynomial"), "--steps", "2", "--trace", trace, "--profile", profile, "--json"});
    EXPECT_EQ(report["steps"], 2);
    const auto rows =
        LanescopeJson({"query", trace, "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL", "--json"})["rows"];
    EXPECT_GT(rows[0][0], 0) << profile;
  }
}

// Without a trace there is nowhere to put what is captured: the run is one like any other.
TEST(ProfileTest, WithoutATraceARunPrintsWhatItPrints) {
  const Outcome outcome = Lanescope({"run", Sample("polynomial"), "--steps", "2", "--profile", "kernels"});
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("polynomial.pbtxt placed by annotated: 2 steps"));
  EXPECT_THAT(outcome.errors, HasSubstr("nothing is captured without --trace"));
}

}  // namespace
}  // namespace lanescope::cli
