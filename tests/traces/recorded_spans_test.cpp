// SPDX-License-Identifier: Apache-2.0
// Folders as profilers leave them: several spans of one process, other files, what is said twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/file.h"
#include "tests/traces/imported.h"
#include "traces/import/import.h"
#include "traces/store/sqlite.h"

namespace lanescope::traces {
namespace {

class FolderTest : public testing::Test {
 protected:
  FolderTest() : folder_("job"), out_("job.sqlite") { std::filesystem::create_directory(folder_.path()); }
  ~FolderTest() override { std::filesystem::remove_all(folder_.path()); }
  void Write(const std::string& name, const std::string& text) {
    WriteFile(folder_.path() + "/" + name, text);
  }
  TraceRun Import() {
    counts_ = ImportTraces({folder_.path()}, out_.path());
    return TraceReader(out_.path()).ReadRun(1);
  }

  ScratchFile folder_, out_;
  ImportCounts counts_;
};

// Steps of 10 ms, in each a kernel of 8 ms; correlation ids of each file begin at 1.
std::string Span(int pid, int first_step, int64_t start_us, const std::string& beside = "") {
  std::string text = "{" + beside + "\"traceEvents\": [";
  for (int i = 0; i < 3; ++i) {
    const int64_t at = start_us + 10'000 * i;
    const auto event = [&](const std::string& category, const std::string& name, int thread, int64_t ts,
                           int dur) {
      text += std::string(text.ends_with("[") ? "" : ",") + R"({"ph": "X", "cat": ")" + category +
              R"(", "name": ")" + name + R"(", "pid": )" + std::to_string(thread < 10 ? 0 : pid) +
              R"(, "tid": )" + std::to_string(thread) + R"(, "ts": )" + std::to_string(ts) + R"(, "dur": )" +
              std::to_string(dur) + R"(, "args": {"correlation": )" + std::to_string(i + 1) + "}}";
    };
    event("user_annotation", "ProfilerStep#" + std::to_string(first_step + i), pid, at, 9'900);
    event("cuda_runtime", "cudaLaunchKernel", pid, at + 10, 4);
    event("kernel", "gemm", 7, at + 50, 8'000);
  }
  return text + "]}";
}

// A minute apart: one GPU, and the minute is not idle, it was not recorded.
TEST_F(FolderTest, SpansOfOneProcessAreOneWorker) {
  Write("worker0_100.1700000000030.pt.trace.json", Span(100, 0, 1'700'000'000'000'000));
  Write("worker0_100.1700000060030.pt.trace.json", Span(100, 10, 1'700'000'060'000'000));
  const TraceRun run = Import();
  EXPECT_EQ(counts_.spans, 2);
  EXPECT_EQ(counts_.unrecorded_ns, 60'000'000'000 - 29'900'000);
  ASSERT_EQ(run.devices.size(), 1u);
  ASSERT_EQ(run.launches.size(), 6u);
  ASSERT_EQ(run.steps.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(run.steps[i].step, i < 3 ? static_cast<int>(i) : 7 + static_cast<int>(i));
    EXPECT_EQ(run.steps[i].end_ns - run.steps[i].start_ns, i % 3 == 2 ? 8'000'000 : 10'000'000) << i;
    EXPECT_GE(run.launches[i].api, 0);
  }
  const Summary summary = Summarize(out_.path(), 1);
  EXPECT_EQ(summary.devices.at(0).compute_ns, 48'000'000);
  EXPECT_EQ(summary.devices.at(0).window_ns, 29'900'000 + 28'000'000);
  EXPECT_THAT(summary.notes, testing::Contains(testing::StartsWith("2 recorded spans follow each other")));
}

// At one time, or of two processes, files are of workers of their own.
TEST_F(FolderTest, OtherFilesAreOfOtherWorkers) {
  Write("a.json", Span(100, 0, 1'000'000));
  Write("b.json", Span(100, 0, 1'005'000));
  Write("c.json", Span(101, 0, 90'000'000));
  const TraceRun run = Import();
  EXPECT_EQ(counts_.spans, 1);
  EXPECT_EQ(run.devices.size(), 3u);
}

TEST_F(FolderTest, SpansOfTwoRanksAreCutAlike) {
  for (int rank = 0; rank < 2; ++rank) {
    const std::string info = R"("distributedInfo": {"rank": )" + std::to_string(rank) + "}, ";
    Write("r" + std::to_string(rank) + "s0.json", Span(100 + rank, 0, 1'000'000 + 500 * rank, info));
    Write("r" + std::to_string(rank) + "s1.json", Span(100 + rank, 10, 61'000'000 + 500 * rank, info));
  }
  const TraceRun run = Import();
  EXPECT_EQ(run.devices.size(), 2u);
  EXPECT_EQ(counts_.clocks, 0);
  EXPECT_EQ(counts_.spans, 2);
  ASSERT_EQ(run.launches.size(), 12u);
  std::map<int, int64_t> last;
  for (const TraceLaunch& launch : run.launches) last[launch.device] = launch.start_ns;
  EXPECT_EQ(last.at(1) - last.at(0), 500'000);
}

TEST_F(FolderTest, OtherFilesAmongTracesAreLeftOutAndNamed) {
  Write("config.json", R"({"lr": 0.1})");
  Write("host_et.json", R"({"schema": "1.1.1-chakra.0.0.4", "pid": 100, "nodes": [{"id": 1}]})");
  Write("lines.json", "{\"a\": 1}\n{\"a\": 2}\n");
  Write("empty.json", "");
  Write("viewer.json", R"({"traceEvents": [{"ph": "X", "cat": "other", "name": "x", "ts": 1, "dur": 2}]})");
  Write("rank.json", Span(100, 0, 1000));
  const TraceRun run = Import();
  EXPECT_EQ(run.launches.size(), 3u);
  EXPECT_THAT(counts_.other_files,
              testing::ElementsAre("config.json", "empty.json", "host_et.json", "lines.json", "viewer.json"));
  EXPECT_THAT(ImportText(counts_), testing::HasSubstr("left out: config.json, empty.json"));
  EXPECT_THAT(Summarize(out_.path(), 1).notes, testing::Contains("left out: host_et.json"));
}

// A rank whose events have begun is damaged, and no other file.
// A folder without traces stands for those in the folders within it, and of what one tool wrote twice the
// file is read that says more.
TEST_F(FolderTest, FoldersWithinFoldersAndDoubledFiles) {
  for (const char* rank : {"0", "1"}) {
    const std::string inner = folder_.path() + "/log/rank" + rank;
    std::filesystem::create_directories(inner);
    const std::string info = std::string(R"("distributedInfo": {"rank": )") + rank + "}, ";
    WriteFile(inner + "/a_results.json", Span(100 + *rank, 0, 1'000'000, info));
    WriteFile(inner + "/a_results.pftrace", "no trace");
  }
  EXPECT_EQ(Import().launches.size(), 6u);
  EXPECT_TRUE(counts_.other_files.empty());
}

TEST_F(FolderTest, ADamagedTraceOfARankIsAnErrorAllTheSame) {
  Write("a.json", Span(100, 0, 1000));
  Write("b.json", "{\"traceEvents\": [{\"ph\": @}]}");
  EXPECT_THROW(Import(), Error);
}

TEST_F(FolderTest, AFolderOfOtherFilesSaysWhatTheFirstOfThemIs) {
  Write("config.json", R"({"lr": 0.1})");
  EXPECT_EQ(CodeOfImport(folder_.path(), "config.json is no Chrome trace"), Code::kInvalidArgument);
}

// Rank 1's times are behind a base 40 ms later; by the wall clock it runs 0.5 ms behind rank 0.
TEST_F(FolderTest, TimesAreBehindTheBaseThatAFileNames) {
  const auto info = [](int rank, const std::string& base) {
    return R"("distributedInfo": {"rank": )" + std::to_string(rank) + R"(}, "baseTimeNanoseconds": )" + base +
           ", ";
  };
  Write("rank0.json", Span(100, 0, 1'000'000, info(0, "1714521599000000000")));
  Write("rank1.json", Span(101, 5, 960'500, info(1, "1714521599040000000")));
  const TraceRun run = Import();
  ASSERT_EQ(run.launches.size(), 6u);
  EXPECT_EQ(run.launches[3].start_ns - run.launches[0].start_ns, 500'000);
}

}  // namespace
}  // namespace lanescope::traces
