// SPDX-License-Identifier: Apache-2.0
// Changes of made traces whose truth stands beside them, and of real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/runs/run_diff.h"
#include "tests/traces/replay_trace.h"
#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/import/import.h"
#include "traces/read/synchronizations.h"
#include "traces/replay/change.h"
#include "traces/replay/glob.h"
#include "traces/replay/what_if.h"
#include "traces/replay/what_if_knobs.h"

namespace lanescope::traces {
namespace {

// A and B one after the other, 12 after the call and 2 between them; the host waits until 6 after B, works
// for 80, and launches C. From A to the end of C: 400.
ReplayTrace TwoAndOne() {
  ReplayTrace trace;
  trace.Kernel(trace.Call(0, 10), 12, 112);
  trace.Kernel(trace.Call(10, 20), 114, 214);
  trace.Call(20, 220, 3);
  trace.Kernel(trace.Call(300, 310), 312, 412);
  return trace;
}

// A queue takes 8 launches whose kernels have not ended. Calls take 4, and from the ninth on until there is
// room.
ReplayTrace FullQueue(int64_t kernel) {
  constexpr int kAhead = 8, kLaunches = 64;
  ReplayTrace trace;
  std::vector<int64_t> ends;
  int64_t now = 0;
  for (int i = 0; i < kLaunches; ++i) {
    int64_t end = now + 4;
    if (i >= kAhead) end = std::max(end, ends[static_cast<size_t>(i - kAhead)]);
    const int call = trace.Call(now, end);
    const int64_t start = std::max(now + 5, ends.empty() ? 0 : ends.back());
    ends.push_back(start + kernel);
    trace.Kernel(call, start, ends.back());
    now = end;
  }
  return trace;
}

// 64 kernels of 20 back to back; of 10 as in the trace that is measured with these; of 2 the calls of 4 are
// what takes time: the last begins at 63 * 4 + 5.
TEST(ReplayTest, LaunchesThatAFullQueueHeldUp) {
  EXPECT_EQ(FullQueue(10).Simulate({})[0], 640);
  EXPECT_EQ(FullQueue(20).Simulate({"kernel:*.speed=2"}), (Times{1280, 1280, 640}));
  EXPECT_EQ(FullQueue(20).Simulate({"kernel:*.speed=10"}), (Times{1280, 1280, 254}));
  const ReplayFacts facts = BuildReplayGraph(FullQueue(20).run(), {}).facts;
  EXPECT_GT(facts.full_queues, 50);
  EXPECT_EQ(facts.frozen, 0);
}

// One launch of 100 while others wait is none that a full queue explains: what it takes is told.
TEST(ReplayTest, LaunchesThatNobodyKnowsWhyTookLong) {
  ReplayTrace trace;
  for (int i = 0; i < 12; ++i) {
    const int64_t call = 4 * i + (i > 8 ? 96 : 0);
    trace.Kernel(trace.Call(call, i == 8 ? call + 100 : call + 4), 5 + 50 * i, 55 + 50 * i);
  }
  const ReplayFacts facts = BuildReplayGraph(trace.run(), {}).facts;
  EXPECT_EQ(facts.full_queues, 0);
  EXPECT_EQ(facts.frozen, 1);
  EXPECT_EQ(facts.frozen_ns, 96'000);
}

// The record of a wait has the device as its process counts those that it sees: 0, where the trace calls
// it 1.
TEST(ReplayTest, WaitsNumberDevicesAsTheirProcessDoes) {
  ReplayTrace trace;
  trace.Kernel(trace.Call(0, 10, 2, 1), 12, 112, 0, 1);
  const int call = trace.Call(10, 120, 3, 1);
  trace.Kernel(trace.Call(120, 130, 2, 1), 132, 182, 0, 1);
  TraceSynchronization wait;
  wait.kind = TraceSynchronization::Kind::kStream;
  wait.device = 0;
  wait.stream = 7;
  wait.global_pid = trace.run().launches[0].global_pid;
  wait.correlation = call;
  EXPECT_EQ(trace.Simulate({"kernel:*.speed=2"}, {wait}), (Times{170, 170, 95}));
}

TEST(ReplayTest, NothingChangedTakesWhatWasMeasured) {
  EXPECT_EQ(TwoAndOne().Simulate({}), (Times{400, 400, 400}));
}

// Kernels of 50: A 12 to 62, B 64 to 114, the host back at 120, at work until 200, C 212 to 262.
TEST(ReplayTest, FasterKernelsLetTheHostGoOnSooner) {
  EXPECT_EQ(TwoAndOne().Simulate({"kernel:ge*m.speed=2"}), (Times{400, 400, 250}));
  EXPECT_EQ(TwoAndOne().Simulate({"GPU:0.speed=2"}), (Times{400, 400, 250}));
}

// The host works for 40: C 40 sooner.
TEST(ReplayTest, AFasterHost) { EXPECT_EQ(TwoAndOne().Simulate({"host.speed=2"}), (Times{400, 400, 360})); }

// Calls of 10 hold up kernels of 1, which begin 2 after their calls have returned: 12 to 33. Without what the
// calls take, kernels begin 2 after the calls and 1 apart: 2 to 3, 4 to 5, 6 to 7.
TEST(ReplayTest, LaunchesWithoutOverhead) {
  ReplayTrace trace;
  for (int64_t at : {0, 10, 20}) trace.Kernel(trace.Call(at, at + 10), at + 12, at + 13);
  EXPECT_EQ(trace.Simulate({"launch.overhead=0us"}), (Times{21, 21, 5}));
  EXPECT_EQ(trace.Simulate({"launch.overhead=10us"}), (Times{21, 21, 21}));
}

// A copy of 100 between kernels of 100 on one stream, all launched at once, gaps of 2: 304. Without the copy
// the second kernel follows the first; with the copy beside it, too, and the copy ends at 214.
TEST(ReplayTest, CopiesRemovedOrOverlapped) {
  ReplayTrace trace;
  trace.Kernel(trace.Call(0, 10), 12, 112);
  trace.Copy(trace.Call(10, 20, 4), 114, 214, 1);
  trace.Kernel(trace.Call(20, 30), 216, 316);
  EXPECT_EQ(trace.Simulate({"copy:*HtoD*=removed"}), (Times{304, 304, 202}));
  EXPECT_EQ(trace.Simulate({"copy:*HtoD*=overlapped"}), (Times{304, 304, 202}));
  EXPECT_EQ(trace.CodeOf("copy:*DtoH*=removed", "[CUDA memcpy HtoD]"), Code::kNotFound);
}

// A step begins with what still runs in it: without the copy of 100 the kernel follows its launch, which
// takes the host 10, by 2, and all that is left of the step are its 50.
TEST(ReplayTest, AStepDoesNotBeginWithWhatWasRemoved) {
  ReplayTrace trace;
  trace.Copy(trace.Call(0, 10, 4), 12, 112, 1);
  trace.Kernel(trace.Call(10, 20), 114, 164);
  EXPECT_EQ(trace.Simulate({"copy:*=removed"}), (Times{152, 152, 50}));
  ReplayTrace copies;
  copies.Copy(copies.Call(0, 10, 4), 12, 112, 1);
  EXPECT_EQ(copies.Simulate({"copy:*=removed"}), (Times{100, 100, 0}));
}

// The call of the copy returns 5 after the copy has ended, since the host wants what it copies: the next
// kernel is launched 5 after, at 222. Overlapped, the host goes on as after any call.
TEST(ReplayTest, ACallThatWaitsForItsCopy) {
  ReplayTrace trace;
  trace.Kernel(trace.Call(0, 10), 12, 112);
  trace.Copy(trace.Call(10, 217, 4), 114, 212, 2);
  trace.Kernel(trace.Call(222, 232), 234, 334);
  EXPECT_EQ(trace.Simulate({}), (Times{322, 322, 322}));
  // Kernels of 50: 12 to 62, the copy 64 to 162, back at 167, launch at 172, 184 to 234.
  EXPECT_EQ(trace.Simulate({"kernel:*.speed=2"}), (Times{322, 322, 222}));
  // The call takes 5 and the kernel comes behind the first one: 114 to 214.
  EXPECT_EQ(trace.Simulate({"copy:*DtoH*=overlapped"})[2], 202);
}

// Stream 8 waits for an event after the kernel of stream 7, and begins 1 after it.
TEST(ReplayTest, StreamsWaitForEvents) {
  ReplayTrace trace;
  trace.Kernel(trace.Call(0, 10), 12, 112);
  const int record = trace.Call(10, 12), wait = trace.Call(12, 14);
  trace.Kernel(trace.Call(14, 24), 113, 213, 0, 0, 8);
  TraceSynchronization sync;
  sync.kind = TraceSynchronization::Kind::kStreamWaits;
  sync.stream = 8;
  sync.global_pid = int64_t{1} << 48;
  sync.correlation = wait;
  sync.recorded_by = record;
  sync.recorded_on = 7;
  EXPECT_EQ(trace.Simulate({"kernel:gemm.speed=2"}, {sync}), (Times{201, 201, 101}));
  // Without the record times tell the same.
  EXPECT_EQ(trace.Simulate({"kernel:gemm.speed=2"}), (Times{201, 201, 101}));
  EXPECT_EQ(BuildReplayGraph(trace.run(), std::vector{sync}).facts.waits, 1);
  EXPECT_EQ(BuildReplayGraph(trace.run(), {}).facts.waits_by_time, 1);
}

// Rank 0 is at the collective at 114, rank 1 at 264; both end at 364, after a transfer of 100.
ReplayTrace TwoRanks() {
  ReplayTrace trace;
  for (int rank : {0, 1}) {
    const int64_t end = rank == 0 ? 112 : 262;
    trace.Kernel(trace.Call(0, 10, 2, rank), 12, end, 0, rank);
    trace.Kernel(trace.Call(10, 20, 2, rank), end + 2, 364, 1, rank);
  }
  return trace;
}

TEST(ReplayTest, CollectivesWaitForTheLastRank) {
  EXPECT_EQ(TwoRanks().Simulate({}), (Times{352, 352, 352}));
  EXPECT_EQ(TwoRanks().Simulate({"link.speed=2"}), (Times{352, 352, 302}));
  // Rank 0 waits longer then.
  EXPECT_EQ(TwoRanks().Simulate({"GPU:0.speed=2"}), (Times{352, 352, 352}));
  // 125 of rank 1: there at 139.
  EXPECT_EQ(TwoRanks().Simulate({"GPU:1.speed=2"}), (Times{352, 352, 227}));
}

// Rank 1 takes 114 instead of 264: its kernel of 250 takes 108, so that the collective begins at about 122.
TEST(ReplayTest, WithoutTheStraggler) {
  const Times times = TwoRanks().Simulate({"straggler=removed"});
  EXPECT_EQ(times[1], 352);
  EXPECT_NEAR(static_cast<double>(times[2]), 122 + 100 - 12, 8);
}

// Beside them ranks 2 and 3 with a collective of their own, at which they are at 164 and 314 and which ends
// at 414: rank 3 takes 164 as well, so that it begins at about 172.
TEST(ReplayTest, WithoutTheStragglerOfEachGroup) {
  ReplayTrace trace = TwoRanks();
  trace.run().texts.push_back("ncclDevKernel_ReduceScatter");
  for (int rank : {2, 3}) {
    const int64_t end = rank == 2 ? 162 : 312;
    trace.Kernel(trace.Call(0, 10, 2, rank), 12, end, 0, rank);
    trace.Kernel(trace.Call(10, 20, 2, rank), end + 2, 414, 5, rank);
  }
  const Times times = trace.Simulate({"straggler=removed"});
  EXPECT_EQ(times[1], 402);
  EXPECT_NEAR(static_cast<double>(times[2]), 172 + 100 - 12, 10);
}

// An all-reduce of two ranks moves every byte 2 * 1/2 times over a link, of four 2 * 3/4: 150 instead of 100.
TEST(ReplayTest, MoreRanksMakeAllReducesLonger) {
  EXPECT_EQ(TwoRanks().Simulate({"ranks=4"}), (Times{352, 352, 402}));
  EXPECT_EQ(TwoRanks().Simulate({"ranks=2"}), (Times{352, 352, 352}));
  EXPECT_EQ(TwoRanks().CodeOf("ranks=1", "can be added"), Code::kFailedPrecondition);
  EXPECT_EQ(TwoRanks().CodeOf("ranks=0", "number of ranks"), Code::kInvalidArgument);
  ReplayTrace other = TwoRanks();
  other.run().texts[1] = "ncclDevKernel_Something";
  EXPECT_EQ(other.CodeOf("ranks=4", "nobody says how its time grows"), Code::kFailedPrecondition);
}

// Kernels of 50 instead of 100: what explains the difference are the kernels on the path.
TEST(ReplayTest, ChangesAreExplainedOpByOp) {
  const auto [before, after] =
      ProfileWhatIf(BuildReplayGraph(TwoAndOne().run(), {}), {"kernel:gemm.speed=2"});
  const RunDiff diff = DiffRuns(before, after);
  EXPECT_EQ(diff.parts_a.step_ns, 400'000);
  EXPECT_EQ(diff.parts_b.step_ns, 250'000);
  EXPECT_EQ(diff.ops.at(0).name, "gemm");
  EXPECT_EQ(diff.ops[0].PathChange(), -150'000);
}

// The path goes through the rank that the collective waits for.
TEST(ReplayTest, ThePathNamesWhatHeldTheStepUp) {
  const WhatIf what_if = FindWhatIf(BuildReplayGraph(TwoRanks().run(), {}), {});
  EXPECT_EQ(what_if.replayed.kernels_ns, 250'000);
  EXPECT_EQ(what_if.replayed.collectives_ns, 100'000);
  EXPECT_EQ(what_if.replayed.waiting_ns, 2'000);
}

TEST(ReplayTest, WhatTheTraceDoesNotSayIsRefused) {
  ReplayTrace alone;  // of one rank
  alone.Kernel(alone.Call(0, 10), 12, 112, 1);
  EXPECT_EQ(alone.CodeOf("link.speed=2", "the other ranks' parts"), Code::kFailedPrecondition);
  EXPECT_EQ(alone.CodeOf("straggler=removed", "the other ranks' parts"), Code::kFailedPrecondition);
  EXPECT_EQ(alone.CodeOf("link.bandwidth=10GB/s", "what its links can carry"), Code::kFailedPrecondition);
  ReplayTrace without_calls;
  without_calls.Kernel(-1, 12, 112);
  EXPECT_EQ(without_calls.CodeOf("launch.overhead=0us", "no API calls"), Code::kFailedPrecondition);
  EXPECT_EQ(without_calls.CodeOf("host.speed=2", "no API calls"), Code::kFailedPrecondition);
  EXPECT_EQ(without_calls.CodeOf("link.speed=2", "no copies"), Code::kNotFound);
  EXPECT_EQ(without_calls.CodeOf("straggler=removed", "no collectives"), Code::kFailedPrecondition);
  EXPECT_EQ(without_calls.CodeOf("ranks=4", "no collectives"), Code::kFailedPrecondition);
  EXPECT_EQ(alone.CodeOf("ranks=4", "the other ranks' parts"), Code::kFailedPrecondition);
  EXPECT_EQ(without_calls.CodeOf("kernel:sgemm*.speed=2", "'gemm'"), Code::kNotFound);
  EXPECT_EQ(without_calls.CodeOf("GPU:3.speed=2", "GPU:3"), Code::kNotFound);
  EXPECT_EQ(without_calls.CodeOf("kernel:gemm.speed=0", "factor"), Code::kInvalidArgument);
  EXPECT_EQ(without_calls.CodeOf("batch=2", "possible are"), Code::kInvalidArgument);
  EXPECT_THROW(BuildReplayGraph(TraceRun(), {}), Error);
}

// Every knob's neutral value changes nothing and its change is understood; what a trace does not say is
// refused by the knob as by the change.
TEST(ReplayTest, KnobsAreChangesThatTheTraceTakes) {
  for (ReplayTrace trace : {TwoAndOne(), TwoRanks()}) {
    const ReplayGraph graph = BuildReplayGraph(trace.run(), {});
    const std::vector<WhatIfKnob> knobs = FindWhatIfKnobs(graph);
    for (const WhatIfKnob& knob : knobs) {
      SCOPED_TRACE(knob.what);
      EXPECT_EQ(knob.refused, "");
      EXPECT_GT(knob.count, 0);
      for (const std::string& choice : knob.choices)
        EXPECT_NO_THROW(FindWhatIf(graph, {knob.ChangeTo(choice)}));
      if (!knob.choices.empty()) continue;
      EXPECT_LE(knob.low, knob.now);
      EXPECT_LT(knob.now, knob.high);
      const WhatIf same = FindWhatIf(graph, {knob.ChangeTo(knob.now)});
      EXPECT_EQ(same.predicted_ns(), same.replayed_ns());
      EXPECT_EQ(knob.ChangeTo(1e300), knob.ChangeTo(knob.high));
    }
    const auto has = [&](const std::string& what) {
      return std::ranges::any_of(knobs, [&](const WhatIfKnob& knob) { return knob.what == what; });
    };
    for (const char* what : {"launch.overhead", "GPU:0.speed", "kernel:gemm.speed"})
      EXPECT_TRUE(has(what)) << what;
  }
}

TEST(ReplayTest, KnobsSayWhatTheTraceDoesNot) {
  ReplayTrace alone;
  alone.Kernel(alone.Call(0, 10), 12, 112, 1);
  std::map<std::string, std::string> refused;
  for (const WhatIfKnob& knob : FindWhatIfKnobs(BuildReplayGraph(alone.run(), {})))
    refused[knob.what] = knob.refused;
  for (const char* what : {"link.speed", "ranks", "straggler"})
    EXPECT_THAT(refused.at(what), testing::HasSubstr("the other ranks' parts")) << what;
  EXPECT_EQ(refused.at("launch.overhead"), "");
  alone.run().api_calls.clear();
  alone.run().launches.front().api = -1;
  for (const WhatIfKnob& knob : FindWhatIfKnobs(BuildReplayGraph(alone.run(), {}))) {
    if (knob.what == "host.speed" || knob.what == "launch.overhead") {
      EXPECT_THAT(knob.refused, testing::HasSubstr("no API calls"));
    }
  }
}

TEST(ReplayTest, Globs) {
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("*HtoD*", "[CUDA memcpy HtoD]"));
  EXPECT_TRUE(MatchesGlob("a*b?d", "aXbYbcd"));
  EXPECT_FALSE(MatchesGlob("a*b", "abc"));
  EXPECT_FALSE(MatchesGlob("a?", "a"));
}

// Real traces replay within two percent.
TEST(ReplayTest, RealTracesReplayWithinTwoPercent) {
  const std::vector<std::vector<std::string>> jobs = {
      {"hta_control.json.gz"},
      {"hta_test.json.gz"},
      {"hta_benchmark_result_2869224_1695835535_trace.json.gz"},
      {"hta_event_sync_trace.json.gz"},
      {"worker0_step_12.1694128201545.pt.trace.json"},
      {"worker0_step_12.1694128201545.pt.trace.json", "worker1_step_12.1694128201556.pt.trace.json"}};
  for (const std::vector<std::string>& job : jobs) {
    std::vector<std::string> files;
    for (const std::string& name : job) files.push_back(SharedTrace("kineto", name));
    if (files.front().empty()) GTEST_SKIP() << "no shared traces here";
    ScratchFile out("out.db");
    ImportTraces(files, out.path());
    TraceReader reader(out.path());
    const WhatIf what_if = FindWhatIf(ReadReplayGraph(reader, 1), {});
    EXPECT_LT(std::abs(what_if.error()), 0.02) << job.front();
  }
}

}  // namespace
}  // namespace lanescope::traces
