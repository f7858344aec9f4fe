// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP end every command in order, with status 128 and their number; limits on files
// and readers that go away are errors.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cli/program.h"
#include "tests/support/paths.h"

namespace lanescope::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::string ErrorOf(int signal) {
  return signal == SIGINT    ? "Cancelled: interrupted"
         : signal == SIGTERM ? "Cancelled: interrupted by SIGTERM"
                             : "Cancelled: interrupted by SIGHUP";
}

json ErrorsIn(const std::string& trace) {
  return LanescopeJson({"query", trace, "SELECT error FROM LANESCOPE_RUN", "--json"})["rows"];
}

// Whether the program has something there; what this process runs it with does not count.
bool IsEmpty(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("lanescope-cli-")) return false;
  }
  return true;
}

// Whether the process whose number is in this file goes away.
bool Ends(const std::string& file) {
  pid_t process = 0;
  std::ifstream(file) >> process;
  for (int i = 0; i < 12000; ++i) {
    if (process > 0 && kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class Signals : public testing::TestWithParam<int> {
 protected:
  Signals() {
    // The caller of the tests may ignore it (nohup).
    before_ = signal(SIGHUP, SIG_DFL);
    std::filesystem::create_directory(temporary_);
    setenv("TMPDIR", temporary_.c_str(), 1);
  }
  ~Signals() override {
    unsetenv("TMPDIR");
    signal(SIGHUP, before_);
  }
  int status() const { return 128 + GetParam(); }
  // A program that says where it is and stays.
  std::string Sleeper(const std::string& sign) const {
    return folder_.Write("sleep.sh",
                         fmt::format("echo $$ > {0}.part; mv {0}.part {0}; exec sleep 600\n", sign));
  }

  Folder folder_;
  const std::string trace_ = folder_.File("t.db");
  const std::string temporary_ = folder_.File("tmp");

 private:
  sighandler_t before_;
};

TEST_P(Signals, EndARun) {
  Process run({"run", Sample("polynomial"), "--steps", "100000000", "--trace", trace_});
  ASSERT_TRUE(run.WaitForFile(trace_ + "-wal", 1 << 20));
  run.Signal(GetParam());
  ExpectError(run.Wait(), status(), "Cancelled", trace_);
  EXPECT_FALSE(std::filesystem::exists(trace_ + "-wal"));
  EXPECT_EQ(ErrorsIn(trace_), json::array({json::array({ErrorOf(GetParam())})}));
}

TEST_P(Signals, EndARunAtItsStart) {
  Process run({"run", Sample("deepconn_single"), "--steps", "100000000", "--trace", trace_});
  ASSERT_TRUE(run.WaitForHandler(GetParam()));
  run.Signal(GetParam());
  ExpectError(run.Wait(), status(), "Cancelled", "interrupted");
}

TEST_P(Signals, EndAComparison) {
  Process compare(
      {"compare", Sample("polynomial") + ":single,alternating", "--steps", "1000000", "--trace", trace_});
  ASSERT_TRUE(compare.WaitForFile(trace_ + "-wal", 1 << 20));
  compare.Signal(GetParam());
  const Outcome outcome = compare.Wait();
  EXPECT_EQ(outcome.status, status()) << outcome.errors;
  EXPECT_EQ(outcome.output, "");
  const json errors = ErrorsIn(trace_);
  ASSERT_EQ(errors.size(), 2u);
  for (const json& row : errors) EXPECT_EQ(row[0], ErrorOf(GetParam()));
}

TEST_P(Signals, EndAComparisonThatNobodyKeeps) {
  Process compare({"compare", Sample("polynomial") + ":single"});
  for (int i = 0; i < 12000 && IsEmpty(temporary_); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_FALSE(IsEmpty(temporary_));
  compare.Signal(GetParam());
  EXPECT_EQ(compare.Wait().status, status());
  EXPECT_TRUE(IsEmpty(temporary_));
}

TEST_P(Signals, EndAProfiledProgram) {
  const std::string sign = folder_.File("sign");
  Process profile({"profile", "-o", trace_, "--", "/bin/sh", Sleeper(sign)});
  ASSERT_TRUE(profile.WaitForFile(sign, 1));
  profile.Signal(GetParam());
  EXPECT_EQ(profile.Wait().status, status());
  EXPECT_TRUE(Ends(sign));
  EXPECT_EQ(ErrorsIn(trace_), json::array({json::array({ErrorOf(GetParam())})}));
  EXPECT_TRUE(IsEmpty(temporary_));
}

TEST_P(Signals, EndAStrategyProgram) {
  const std::string sign = folder_.File("sign");
  const std::string strategy = "exec:sh " + Sleeper(sign);
  for (const std::string command : {"place", "run", "simulate", "compare"}) {
    std::filesystem::remove(sign);
    std::vector<std::string> arguments{command, Sample("polynomial")};
    if (command == "compare") arguments.push_back("--strategies");
    if (command != "compare") arguments.push_back("--strategy");
    arguments.push_back(strategy);
    Process process(arguments);
    ASSERT_TRUE(process.WaitForFile(sign, 1));
    process.Signal(GetParam());
    ExpectError(process.Wait(), status(), "Cancelled", "sh");
    EXPECT_TRUE(Ends(sign)) << command;
  }
}

TEST_P(Signals, EndAnImportWithoutATrace) {
  std::string events;
  for (int i = 0; i < 150'000; ++i) {
    events += fmt::format(
        R"({}{{"ph": "X", "cat": "kernel", "name": "k{}", "pid": 0, "tid": 7, "ts": {}, "dur": 1, "args": {{}}}})",
        i == 0 ? "" : ",\n", i % 50, 2 * i);
  }
  const std::string file = folder_.Write("k.json", "[" + events + "]");
  const std::string out = folder_.File("out");
  std::filesystem::create_directory(out);
  Process import({"import", file, "-o", out + "/k.sqlite"});
  ASSERT_TRUE(import.WaitForHandler(GetParam()));
  import.Signal(GetParam());
  EXPECT_EQ(import.Wait().status, status());
  EXPECT_TRUE(IsEmpty(out));
}

TEST_P(Signals, EndAQuery) {
  ASSERT_EQ(Lanescope({"simulate", Sample("polynomial"), "--trace", trace_}).status, 0);
  Process query({"query", trace_,
                 "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"});
  ASSERT_TRUE(query.WaitForHandler(GetParam()));
  query.Signal(GetParam());
  ExpectError(query.Wait(), status(), "Cancelled", "interrupted");
}

TEST_P(Signals, EndMicrobenchmarksAndPredictions) {
  ASSERT_EQ(Lanescope({"run", Sample("polynomial"), "--steps", "3", "--trace", trace_}).status, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"devices", "--measure"},
      {"calibrate", trace_},
      {"simulate", Sample("polynomial"), "--trace", folder_.File("s.db"), "--steps", "1000000"}};
  for (const auto& arguments : commands) {
    Process process(arguments);
    ASSERT_TRUE(process.WaitForHandler(GetParam()));
    const auto start = std::chrono::steady_clock::now();
    process.Signal(GetParam());
    const Outcome outcome = process.Wait();
    EXPECT_EQ(outcome.status, status()) << arguments[0] << outcome.errors;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
    EXPECT_THAT(outcome.errors, HasSubstr("error: Cancelled: "));
    EXPECT_EQ(outcome.output, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Signals, testing::ValuesIn(kSignals),
                         [](const auto& of) { return "SIG" + std::string(sigabbrev_np(of.param)); });

// As under nohup.
TEST(SignalsTest, AnIgnoredHangUpStaysIgnored) {
  const Folder folder;
  const std::string trace = folder.File("t.db");
  const sighandler_t before = signal(SIGHUP, SIG_IGN);
  Process run({"run", Sample("polynomial"), "--steps", "100000000", "--trace", trace});
  signal(SIGHUP, before);
  ASSERT_TRUE(run.WaitForFile(trace + "-wal", 1 << 20));
  run.Signal(SIGHUP);
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().status, 128 + SIGTERM);
  EXPECT_EQ(ErrorsIn(trace)[0][0], "Cancelled: interrupted by SIGTERM");
}

int Bash(const std::string& command) {
  const int how = system(fmt::format("bash -c '{}'", command).c_str());
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

TEST(SignalsTest, ALimitOnFilesIsAnError) {
  const Folder folder;
  const std::string errors = folder.File("errors");
  EXPECT_EQ(Bash(fmt::format("ulimit -f 64; {} run {} --steps 100000 --trace {} 2>{}",
                             lanescope::test::ProgramPath(), Sample("deepconn_single"), folder.File("t.db"),
                             errors)),
            1);
  EXPECT_THAT(ReadText(errors), testing::StartsWith("error: "));
  EXPECT_EQ(Bash(fmt::format("ulimit -f 1; {} place {} -o {} 2>{}", lanescope::test::ProgramPath(),
                             Sample("deepconn_single"), folder.File("placed.pbtxt"), errors)),
            1);
  EXPECT_THAT(ReadText(errors), testing::StartsWith("error: ResourceExhausted: "));
  EXPECT_FALSE(std::filesystem::exists(folder.File("placed.pbtxt")));
}

TEST(SignalsTest, AReaderThatGoesAwayEndsQuietly) {
  const Folder folder;
  const std::string errors = folder.File("errors");
  EXPECT_EQ(Bash(fmt::format("set -o pipefail; {} place {} --json 2>{} | head -c 10 >/dev/null",
                             lanescope::test::ProgramPath(), Sample("deepconn_single"), errors)),
            0);
  EXPECT_EQ(ReadText(errors), "");
}

}  // namespace
}  // namespace lanescope::cli
