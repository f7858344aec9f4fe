// SPDX-License-Identifier: Apache-2.0
// Attribution of launches to NVTX ranges, and steps made of them.
#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "core/base/error.h"
#include "tests/traces/nsys_export.h"
#include "tests/traces/sample_run.h"
#include "traces/read/activity_names.h"
#include "traces/read/launch_links.h"
#include "traces/read/step_ranges.h"
#include "traces/report/summary.h"

namespace lanescope::traces {
namespace {

TraceRange Range(int64_t start, int64_t end, int64_t tid, bool process_wide = false) {
  TraceRange range;
  range.start_ns = start;
  range.end_ns = end;
  range.global_tid = tid;
  range.process_wide = process_wide;
  return range;
}

TraceApiCall Call(int64_t start, int64_t tid) {
  TraceApiCall call;
  call.start_ns = start;
  call.end_ns = start + 1;
  call.global_tid = tid;
  return call;
}

// Law, by looking at every range: the one that started last of those that contain the start of the call, on
// the thread or in the process. Ranges need not nest.
TEST(NvtxTest, InnermostRangeAgreesWithExhaustiveSearch) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 100; ++round) {
    TraceRun run;
    const auto tid = [&] { return ((int64_t{below(2)} + 1) << 24) | (below(2) + 1); };
    for (int i = below(30); i > 0; --i) {
      const int start = below(100);
      run.ranges.push_back(Range(start, start + below(60), tid(), below(3) == 0));
    }
    std::stable_sort(run.ranges.begin(), run.ranges.end(), [](const TraceRange& a, const TraceRange& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    for (int i = 0; i < 30; ++i) run.api_calls.push_back(Call(below(160), tid()));
    LinkApiCallsToRanges(&run);
    for (const TraceApiCall& call : run.api_calls) {
      int expected = -1;
      for (size_t i = 0; i < run.ranges.size(); ++i) {
        const TraceRange& range = run.ranges[i];
        const bool owner = range.process_wide ? GlobalPidOf(range.global_tid) == GlobalPidOf(call.global_tid)
                                              : range.global_tid == call.global_tid;
        if (owner && range.start_ns <= call.start_ns && call.start_ns <= range.end_ns) {
          expected = static_cast<int>(i);
        }
      }
      EXPECT_EQ(call.range, expected) << "call at " << call.start_ns;
    }
  }
}

TEST(NvtxTest, CallsAreFoundByProcessAndCorrelation) {
  std::vector<TraceApiCall> calls = {Call(10, kPid1 + 1), Call(10, kPid2 + 1), Call(50, kPid1 + 1)};
  calls[0].correlation = calls[1].correlation = calls[2].correlation = 7;
  const ApiCallIndex index(calls);
  EXPECT_EQ(index.Find(kPid1, 7, 20), 0);
  EXPECT_EQ(index.Find(kPid2, 7, 20), 1);
  EXPECT_EQ(index.Find(kPid1, 7, 60), 2);  // the id was used again
  EXPECT_EQ(index.Find(kPid1, 8, 60), -1);
  EXPECT_EQ(index.Find(kPid1 + (1 << 24), 7, 60), -1);
  EXPECT_GE(index.Find(0, 7, 20), 0);  // an activity without a process
  EXPECT_EQ(index.Find(kPid1, -1, 20), -1);
}

TEST(NvtxTest, TextsThatLookLikeSteps) {
  const std::pair<const char*, std::optional<std::pair<int, int64_t>>> cases[] = {
      {"step 3", std::pair(0, 3)},
      {"ProfilerStep#12", std::pair(0, 12)},
      {"train_step_7", std::pair(0, 7)},
      {"Step: 4", std::pair(0, 4)},
      {"step", std::pair(0, -1)},
      {"training step", std::pair(0, -1)},
      {"iteration_5", std::pair(1, 5)},
      {"Iter 0", std::pair(2, 0)},
      {"batch=9", std::pair(3, 9)},
      {"[step 4]", std::pair(0, 4)},
      {"Step(4):", std::pair(0, 4)},
      {"Step 4/100", std::pair(0, 4)},
      {"step 4 of 100", std::pair(0, 4)},
      {"## step 4 ##", std::pair(0, 4)},
      {"train_iteration", std::pair(1, -1)},
      {"step 4/", std::nullopt},
      {"1/2", std::nullopt},
      {" of 3", std::nullopt},
      {"forward_step", std::nullopt},
      {"optimizer.step", std::nullopt},
      {"timestep 4", std::nullopt},
      {"aten::add", std::nullopt},
      {"minibatch 3", std::nullopt},
      {"3", std::nullopt},
      {"", std::nullopt},
      {"step 99999999999999999999", std::nullopt},
      {"step 3 of 9 forward", std::nullopt}};
  for (const auto& [text, expected] : cases) {
    const auto parsed = ParseStepText(text);
    ASSERT_EQ(parsed.has_value(), expected.has_value()) << text;
    if (parsed) {
      EXPECT_EQ(std::pair(parsed->rank, parsed->number), *expected) << text;
    }
  }
}

// Steps of engines say what they serve; texts of any length.
TEST(NvtxTest, StepsOfEngines) {
  const std::tuple<const char*, int, int64_t, int64_t, int64_t> cases[] = {
      {"execute_context_1(512)_generation_31(31)", 1, 1, 31, 543},
      {"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", 1, 0, 32, 32},
      {"execute_new_2_cached_30", 1, 2, 30, -1},
      {"step[DECODE bs=32]", 0, 0, 32, 32},
      {"step[EXTEND bs=3 toks=1536]", 0, 3, 0, 1536},
      {"step[MIXED bs=5]", 0, -1, -1, -1}};
  for (const auto& [text, rank, prefill, decode, tokens] : cases) {
    const auto parsed = ParseStepText(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->rank, rank) << text;
    EXPECT_EQ(parsed->number, -1) << text;
    EXPECT_EQ(parsed->work.prefill, prefill) << text;
    EXPECT_EQ(parsed->work.decode, decode) << text;
    EXPECT_EQ(parsed->work.tokens, tokens) << text;
  }
  for (const char* text : {"execute_", "execute_context_x(1)_generation_y(2)", "step[DECODE]",
                           "execute_new_99999999999999999999_cached_", "step[ bs=]"})
    EXPECT_FALSE(ParseStepText(text).has_value()) << text;
}

TEST(NvtxTest, NamesWithoutTheArgumentsOfPyTorch) {
  EXPECT_EQ(RangeName("aten::mm, op_id = 3"), "aten::mm");
  EXPECT_EQ(RangeName("aten::mm, seq = 4, op_id = 3, sizes = [[1]]"), "aten::mm");
  EXPECT_EQ(RangeName("forward, 2"), "forward, 2");
}

// Two steps of two processes; the GPU runs behind the host, so that the window of a step is that of what was
// launched in it: step 1 from 500 to 700 and 520 to 900.
class NvtxStepsTest : public testing::Test {
 protected:
  NvtxStepsTest() {
    NsysExport out(file_.path(), ExportVersions()[4]);
    const std::string name = out.Text("gemm");
    int correlation = 0;
    const auto work = [&](int64_t pid, int launched, int start, int end) {
      ++correlation;
      out.Call({{"start", std::to_string(launched)},
                {"end", std::to_string(launched + 1)},
                {"globalTid", std::to_string(pid + 2)},
                {"correlationId", std::to_string(correlation)}});
      out.Kernel({{"start", std::to_string(start)},
                  {"end", std::to_string(end)},
                  {"deviceId", pid == kPid1 ? "0" : "1"},
                  {"globalPid", std::to_string(pid)},
                  {"correlationId", std::to_string(correlation)},
                  {"shortName", name},
                  {"demangledName", name}});
    };
    const auto range = [&](int64_t pid, int start, int end, const std::string& text) {
      out.Range({{"start", std::to_string(start)},
                 {"end", std::to_string(end)},
                 {"eventType", "59"},
                 {"globalTid", std::to_string(pid + 1)},
                 {"text", "'" + text + "'"}});
    };
    for (const int64_t pid : {kPid1, kPid2}) {
      range(pid, 0, 100, "step 0");
      range(pid, 10, 20, "iteration 5");
      range(pid, 100, 200, "step 1");
    }
    work(kPid1, 10, 300, 500);
    work(kPid1, 110, 500, 700);
    work(kPid2, 20, 320, 520);
    work(kPid2, 120, 520, 900);
    work(kPid2, 250, 900, 950);
  }
  ScratchFile file_;
};

TEST_F(NvtxStepsTest, WorkBelongsToTheStepThatLaunchedIt) {
  const TraceRun run = TraceReader(file_.path()).ReadRun(1);
  ASSERT_EQ(run.steps.size(), 2u);
  EXPECT_EQ(run.steps[0].start_ns, 300);
  EXPECT_EQ(run.steps[0].end_ns, 500);  // where step 1 begins on another GPU
  EXPECT_EQ(run.steps[1].start_ns, 500);
  EXPECT_EQ(run.steps[1].end_ns, 900);
  EXPECT_EQ(run.launches[4].step, -1);
  const Summary all = Summarize(file_.path(), 1);
  ASSERT_EQ(all.steps.size(), 2u);
  EXPECT_EQ(all.steps[1].devices[0].compute_ns, 200);
  EXPECT_EQ(all.steps[1].devices[1].compute_ns, 400);  // with the 20 ns of step 0 in its window
  SummaryOptions options;
  options.step = 1;
  const Summary one = Summarize(file_.path(), 1, options);
  EXPECT_EQ(one.gpu_activities.at(0).total_ns, 200 + 380);
  EXPECT_EQ(one.devices.at(1).window_ns, 400);
  EXPECT_EQ(one.api_calls.at(0).calls, 2);
}

TEST_F(NvtxStepsTest, MissingStepsAndRangesAreErrors) {
  SummaryOptions options;
  options.step = 7;
  try {
    Summarize(file_.path(), 1, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(error.message().find("0 to 1"), std::string::npos) << error.message();
  }
  ScratchFile plain("plain.db");
  { NsysExport out(plain.path(), ExportVersions()[4]); }
  for (const bool ranges : {false, true}) {
    SummaryOptions wanted;
    wanted.ranges = ranges;
    wanted.step = ranges ? -1 : 0;
    try {
      Summarize(plain.path(), 1, wanted);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
    }
  }
}

}  // namespace
}  // namespace lanescope::traces
