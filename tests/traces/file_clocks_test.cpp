// SPDX-License-Identifier: Apache-2.0
// Files of ranks whose clocks differ: what they have in common puts them right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/traces/sample_run.h"
#include "traces/import/import.h"
#include "traces/read/trace_reader.h"
#include "traces/report/advice.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

// The events of a rank, in us.
class Rank {
 public:
  explicit Rank(int number, int64_t ahead_us = 0) : number_(number), ahead_us_(ahead_us) {}

  Rank& Kernel(const std::string& name, int64_t start, int64_t length, const std::string& group = "") {
    const std::string of =
        group.empty() ? ""
                      : fmt::format(R"(, "Collective name": "allreduce", "Process Group Name": "{}")", group);
    return Add(fmt::format(R"("cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": {},
      "args": {{"device": 0, "stream": 7, "correlation": {}{}}})",
                           name, start + ahead_us_, length, ++correlation_, of));
  }
  Rank& Step(int step, int64_t start, int64_t length) {
    return Add(fmt::format(R"("cat": "user_annotation", "name": "ProfilerStep#{}", "pid": 1, "tid": 1,
      "ts": {}, "dur": {})",
                           step, start + ahead_us_, length));
  }
  std::string Json() const {
    return fmt::format(R"({{"distributedInfo": {{"rank": {}, "world_size": 4}}, "traceEvents": [{}]}})",
                       number_, events_);
  }

 private:
  Rank& Add(const std::string& fields) {
    events_ += fmt::format(R"({}{{"ph": "X", {}}})", events_.empty() ? "" : ",\n", fields);
    return *this;
  }
  int number_ = 0, correlation_ = 0;
  int64_t ahead_us_ = 0;
  std::string events_;
};

struct Job {
  ImportCounts counts;
  TraceRun run;
  Summary summary;
};

Job Import(const std::vector<Rank>& ranks) {
  ScratchFile out;
  std::vector<std::string> files;
  for (const Rank& rank : ranks) {
    files.push_back((out.folder() / fmt::format("{}.json", files.size())).string());
    std::ofstream(files.back()) << rank.Json();
  }
  Job job;
  job.counts = ImportTraces(files, out.path());
  job.run = TraceReader(out.path()).ReadRun(1);
  SummaryOptions options;
  options.waits = true;
  job.summary = Summarize(out.path(), 1, options);
  return job;
}

// Two all-reduces, to the first of which rank 0 comes 200 us before rank 1, to the second 50 us after it: by
// a clock that is 5 s ahead in the second file. As they end together, its times are less 5 s.
TEST(FileClocksTest, CollectivesPutThemRight) {
  const auto of = [](int rank, int64_t ahead, int64_t first, int64_t second) {
    return Rank(rank, ahead)
        .Kernel(kAllReduce, first, 1000 - first)
        .Kernel(kAllReduce, second, 3000 - second);
  };
  const Job job = Import({of(0, 0, 700, 2800), of(1, 5'000'000, 900, 2750)});
  EXPECT_EQ(job.counts.clocks, 1);
  EXPECT_THAT(ImportText(job.counts), testing::HasSubstr("the clock of 1 file put right"));
  ASSERT_EQ(job.run.launches.size(), 4u);
  EXPECT_EQ(job.run.launches[2].start_ns, 200'000);
  EXPECT_EQ(job.run.launches[3].start_ns, 2'050'000);
  ASSERT_EQ(job.run.ranks.size(), 2u);
  EXPECT_EQ(job.run.ranks[1].clock_ahead_ns, 5'000'000'000);
  EXPECT_THAT(job.summary.notes,
              testing::ElementsAre(testing::HasSubstr("rank 1 is 5 s ahead of the first")));
  const Waits& waits = *job.summary.waits;
  EXPECT_EQ(waits.devices[0].waiting_ns, 200'000);
  EXPECT_EQ(waits.devices[1].waiting_ns, 50'000);
  ASSERT_EQ(waits.stragglers.size(), 1u);
  EXPECT_EQ(waits.stragglers[0].label, "rank 1 GPU:0");
  EXPECT_EQ(waits.partial, 2);  // of 4 ranks
  EXPECT_THAT(AdviceOf(job.summary), testing::Contains(testing::HasSubstr("most for rank 1 GPU:0")));
}

// Rank 2 has nothing in common with the first file, but with rank 1: its clock is 7 s behind that.
TEST(FileClocksTest, RanksTellOfEachOther) {
  const Job job =
      Import({Rank(0).Kernel(kAllReduce, 100, 50, "a"),
              Rank(1, 10'000'000).Kernel(kAllReduce, 100, 50, "a").Kernel(kAllReduce, 200, 50, "b"),
              Rank(2, 3'000'000).Kernel(kAllReduce, 200, 50, "b").Kernel("gemm", 260, 10)});
  ASSERT_EQ(job.run.ranks.size(), 3u);
  EXPECT_EQ(job.run.ranks[1].clock_ahead_ns, 10'000'000'000);
  EXPECT_EQ(job.run.ranks[2].clock_ahead_ns, 3'000'000'000);
}

// Without collectives steps of one number do: in files that are of ranks.
TEST(FileClocksTest, StepsPutThemRight) {
  const auto of = [](int rank, int64_t ahead) {
    Rank made(rank, ahead);
    for (int step = 0; step < 4; ++step)
      made.Step(step, 1000 * step, 1000).Kernel("gemm", 1000 * step + 100 + 20 * rank, 800);
    return made;
  };
  const Job job = Import({of(0, 0), of(1, -60'000'000)});
  ASSERT_EQ(job.run.ranks.size(), 2u);
  EXPECT_EQ(job.run.ranks[1].clock_ahead_ns, -60'000'000'000);
  EXPECT_EQ(job.run.steps.size(), 4u);
  EXPECT_THAT(job.summary.notes, testing::ElementsAre(testing::HasSubstr("60 s behind the first")));
}

// Law: one file's times count from its machine's start, the other's since 1970. However far apart, that is a
// difference of clocks, whichever file is the first.
TEST(FileClocksTest, TimesSince1970BesideOthers) {
  constexpr int64_t kSince1970Us = 1'700'000'000'000'000;
  for (const int64_t first : {int64_t{0}, kSince1970Us}) {
    const auto of = [](int rank, int64_t ahead) {
      Rank made(rank, ahead);
      for (int step = 0; step < 3; ++step)
        made.Step(step, 5000 + 1000 * step, 1000).Kernel("gemm", 5100 + 1000 * step, 800);
      return made;
    };
    const int64_t second = kSince1970Us - first;
    const Job job = Import({of(0, first), of(1, second)});
    EXPECT_EQ(job.run.ranks[1].clock_ahead_ns, 1000 * (second - first));
    EXPECT_EQ(job.summary.devices.at(0).window_ns, 2'800'000);
  }
}

// Clocks that differ by less than a collective lasts, and parts that have nothing to do with each other, tell
// nothing: times stay.
TEST(FileClocksTest, TimesStayWhereNothingTells) {
  const Job near = Import({Rank(0).Kernel(kAllReduce, 100, 50), Rank(1).Kernel(kAllReduce, 130, 50)});
  EXPECT_EQ(near.counts.clocks, 0);
  EXPECT_TRUE(near.summary.notes.empty());
  // The stages of a pipeline, each with all-reduces of its own: 10 and 30 ms apart.
  const Job stages = Import({Rank(0).Kernel(kAllReduce, 0, 50).Kernel(kAllReduce, 50'000, 50),
                             Rank(1).Kernel(kAllReduce, 10'000, 50).Kernel(kAllReduce, 80'000, 50)});
  EXPECT_EQ(stages.counts.clocks, 0);
  EXPECT_EQ(stages.summary.waits->devices[0].collectives, 0);
}

}  // namespace
}  // namespace lanescope::traces
