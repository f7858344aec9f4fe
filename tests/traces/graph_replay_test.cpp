// SPDX-License-Identifier: Apache-2.0
// CUDA graphs in replays, and steps made graphs and graphs made launches: on made traces whose truth stands
// beside them, and on a step that was recorded both ways.
#include "core/base/file.h"
#include "tests/support/paths.h"
#include "tests/traces/replay_trace.h"
#include "tests/traces/sample_run.h"
#include "tests/traces/shared_traces.h"
#include "traces/import/import.h"
#include "traces/replay/change.h"
#include "traces/replay/what_if.h"
#include "traces/replay/what_if_knobs.h"

namespace lanescope::traces {
namespace {

// A graph of ten kernels of 10 without gaps, begun 12 after its call, and three kernels launched by
// themselves, each 4 after the one before: from 12 to 154.
ReplayTrace GraphAndThree() {
  ReplayTrace trace;
  trace.run().texts.push_back("cudaGraphLaunch");
  const int graph = trace.Call(0, 10, 5);
  for (int64_t node = 0; node < 10; ++node) trace.Kernel(graph, 12 + 10 * node, 22 + 10 * node);
  int64_t start = 116;
  for (int64_t call : {10, 14, 18}) {
    trace.Kernel(trace.Call(call, call + 4), start, start + 10);
    start += 14;
  }
  return trace;
}

// Gaps inside a graph are not those between launches.
TEST(GraphReplayTest, NodesHaveGapsOfTheirOwn) {
  EXPECT_EQ(GraphAndThree().Simulate({}), (Times{142, 142, 142}));
}

// A node of 10, then branches of 50 and 100 beside each other on one stream, then a node of 10: 120. The
// shorter branch holds nothing up; the longer one, of 50, leaves 70.
TEST(GraphReplayTest, BranchesRunBesideEachOther) {
  ReplayTrace trace;
  trace.run().texts.insert(trace.run().texts.end(), {"cudaGraphLaunch", "short", "long"});
  const int graph = trace.Call(0, 10, 5);
  trace.Kernel(graph, 12, 22);
  trace.Kernel(graph, 22, 72, 6);
  trace.Kernel(graph, 22, 122, 7);
  trace.Kernel(graph, 122, 132);
  EXPECT_EQ(trace.Simulate({"kernel:short.speed=2"}), (Times{120, 120, 120}));
  EXPECT_EQ(trace.Simulate({"kernel:long.speed=2"}), (Times{120, 120, 70}));
}

// A while node whose body, a child graph of three kernels of 10 that follow each other by 1, runs twelve
// times, the next time 4 after the last: 12 * 32 + 11 * 4. With kernels of 5, 15 a pass less.
TEST(GraphReplayTest, ABodyThatRunsSeveralTimes) {
  ReplayTrace trace;
  trace.run().texts.insert(trace.run().texts.end(), {"cudaGraphLaunch", "attend", "project", "condition"});
  const int graph = trace.Call(0, 10, 5);
  for (int64_t pass = 0; pass < 12; ++pass) {
    for (int64_t node = 0; node < 3; ++node) {
      const int64_t start = 12 + 36 * pass + 11 * node;
      trace.Kernel(graph, start, start + 10, 6 + static_cast<int>(node));
    }
  }
  EXPECT_EQ(trace.Simulate({"kernel:*.speed=2"}), (Times{428, 428, 248}));
}

// A stream's work from before the trace is no time that launches take: 5,000 pass before the copy,
// and the graph follows it at once.
TEST(GraphReplayTest, ATraceMayBeginWithABusyGpu) {
  ReplayTrace trace;
  trace.run().texts.push_back("cudaGraphLaunch");
  trace.Copy(trace.Call(0, 10, 4), 5000, 5010, 1);
  const int graph = trace.Call(1000, 1100, 5);
  for (int64_t node = 0; node < 10; ++node) trace.Kernel(graph, 5011 + 10 * node, 5021 + 10 * node);
  EXPECT_EQ(trace.Simulate({}), (Times{111, 111, 111}));
}

// Three kernels of 10, each launched 100 after the one before: 210. As a graph the first begins 5 after the
// launch and 0.2 for each node, the others 0.5 after the one before: 5.6 + 31.
TEST(GraphReplayTest, AStepAsOneGraph) {
  ReplayTrace trace;
  for (int64_t at : {0, 100, 200}) trace.Kernel(trace.Call(at, at + 10), at + 12, at + 22);
  EXPECT_EQ(trace.Simulate({"graph=captured"}), (Times{210, 210, 37}));
}

// The host waits after the second kernel, and goes on 5 after its end: that is the end of a graph. The first
// takes 5.4 + 20.5, and the next is launched 5 later: 5.2 + 10.
TEST(GraphReplayTest, AGraphEndsWhereTheHostWaits) {
  ReplayTrace trace;
  for (int64_t at : {0, 100}) trace.Kernel(trace.Call(at, at + 10), at + 12, at + 22);
  trace.Call(110, 127, 3);
  trace.Kernel(trace.Call(200, 210), 212, 222);
  const WhatIf what_if = FindWhatIf(BuildReplayGraph(trace.run(), {}), {"graph=captured"});
  EXPECT_EQ(what_if.changes.at(0).count, 2);
  EXPECT_NEAR(what_if.predicted_ns(), 46'100, 100);
  EXPECT_EQ(what_if.predicted.step_ns(), static_cast<int64_t>(what_if.predicted_ns()));
}

// Ranks that meet in a collective still do: the kernels of 100 and 250 begin at 5.4, and after the longer one
// come the gap of 0.5 and the transfer of 100.
TEST(GraphReplayTest, CollectivesAreCapturedToo) {
  ReplayTrace trace;
  for (int rank : {0, 1}) {
    const int64_t end = rank == 0 ? 112 : 262;
    trace.Kernel(trace.Call(0, 10, 2, rank), 12, end, 0, rank);
    trace.Kernel(trace.Call(10, 20, 2, rank), end + 2, 364, 1, rank);
  }
  EXPECT_EQ(trace.Simulate({"graph=captured"}), (Times{352, 352, 356}));
}

// Ten launches of 3.7 in place of the graph's, kernels of 10 begin 5 after the first and 1 apart: at 114, and
// 42 later the other three have ended. With 38 for every launch they begin 39.3 after theirs.
TEST(GraphReplayTest, AGraphAsLaunches) {
  EXPECT_EQ(GraphAndThree().Simulate({"graph=none"}), (Times{142, 142, 151}));
  EXPECT_EQ(GraphAndThree().Simulate({"graph=none", "launch.overhead=38us"})[2], 473);
}

TEST(GraphReplayTest, WhatCannotBeDoneIsSaid) {
  ReplayTrace trace;
  trace.Kernel(trace.Call(0, 10), 12, 22);
  EXPECT_EQ(trace.CodeOf("graph=none", "launches no graphs"), Code::kNotFound);
  EXPECT_EQ(trace.CodeOf("graph=twice", "captured or none"), Code::kInvalidArgument);
  ReplayTrace without_calls;
  without_calls.Kernel(-1, 12, 22);
  EXPECT_EQ(without_calls.CodeOf("graph=captured", "no API calls"), Code::kFailedPrecondition);
}

TEST(GraphReplayTest, TheTimelineOffersWhatTheTraceHas) {
  const auto choices = [](const ReplayTrace& trace) {
    for (const WhatIfKnob& knob : FindWhatIfKnobs(BuildReplayGraph(trace.run(), {}))) {
      if (knob.what == "graph") return knob.choices;
    }
    return std::vector<std::string>();
  };
  EXPECT_THAT(choices(GraphAndThree()), testing::ElementsAre("captured", "none"));
  ReplayTrace launches;
  launches.Kernel(launches.Call(0, 10), 12, 22);
  EXPECT_THAT(choices(launches), testing::ElementsAre("captured"));
}

WhatIf OfRecorded(const std::string& name, const std::vector<std::string>& changes) {
  ScratchFile out("out.db");
  ImportTraces({lanescope::test::SourceDir() + "/tests/golden/replay/" + name}, out.path());
  TraceReader reader(out.path());
  return FindWhatIf(ReadReplayGraph(reader, 1), changes);
}

// A step of a perceptron on an H100, recorded eager and as a CUDA graph: 194 us between launching the graph
// and knowing that it has ended, without a profiler. The prediction sees the eager recording alone.
TEST(GraphReplayTest, ARecordedStepAsAGraph) {
  const WhatIf eager = OfRecorded("mlp_eager.json.gz", {"graph=captured"});
  EXPECT_LT(std::abs(eager.error()), 0.01);
  EXPECT_EQ(eager.changes.at(0).count, 3);
  EXPECT_NEAR(eager.predicted_ns(), 193'700, 0.05 * 193'700);
  const WhatIf graph = OfRecorded("mlp_graph.json.gz", {});
  EXPECT_LT(std::abs(graph.error()), 0.01);
}

// Real traces, each replayed within one percent.
TEST(GraphReplayTest, RealTracesReplayWithinOnePercent) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"tracelens", "vllm_decode_execution.json.gz"},
      {"tracelens", "sglang_decode.json.gz"},
      {"tracelens", "h100_bert_small.json.gz"},
      {"tracelens", "h100_image_classifier.json.gz"},
      {"tracelens", "mi300x_bert_small.json.gz"},
      {"tracelens", "mi300x_image_classifier.json.gz"},
      {"kineto", "hta_control.json.gz"},
      {"kineto", "hta_test.json.gz"},
      {"../data/h100/torch", "gpt_fp32_b4.json.gz"},
      {"../data/h100/torch", "gpt_compiled.json.gz"},
      {"../data/h100/torch", "gpt_eager.json.gz"},
      {"../data/h100/torch", "mlp_reduce_overhead.json.gz"}};
  for (const auto& [folder, name] : files) {
    const std::string path = SharedTrace(folder, name);
    if (path.empty()) GTEST_SKIP() << "no shared traces here";
    ScratchFile out("out.db");
    ImportTraces({path}, out.path());
    TraceReader reader(out.path());
    EXPECT_LT(std::abs(FindWhatIf(ReadReplayGraph(reader, 1), {}).error()), 0.01) << name;
  }
}

}  // namespace
}  // namespace lanescope::traces
